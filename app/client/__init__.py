"""The command's half that talks to a running service: HTTP and WebSocket, and the documents in graphql/operations.

It knows nothing else of the app, so that whatever it can do, any other client can.
"""
