"""The panel: pages for people in a browser, made on the server and kept current by htmx and server-sent events.

Routes by noun (`session`, `projects`, `workloads`, `workload`, `servers`, `live`, `log`) read the store and call
`app.commands`; `contexts` holds what each template gets, `rendering` makes text of it. Everything works without
JavaScript too: a form post answers 303, and htmx gets the changed fragment of the same template instead.
"""
