// What pages do beside htmx: keep ages current, say whether the page is live, and keep the focus where it was.
// Everything works without this file; nothing here decides anything.
(() => {
  "use strict";

  const AGES_EVERY = 5000;
  const SILENCE = 25000; // the server sends a tick every 10 s
  const WATCH_EVERY = 2000;

  // Ages and spans, worded as app/panel/wording.py does.

  const MINUTE = 60, HOUR = 3600, DAY = 86400;

  function ago(seconds) {
    if (seconds < 5) return "just now";
    if (seconds < MINUTE) return `${seconds} s ago`;
    if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
    if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ago`;
    return `${Math.floor(seconds / DAY)} d ago`;
  }

  function two(seconds, large, largeName, small, smallName) {
    const part = Math.floor((seconds % large) / small);
    const rest = part ? ` ${String(part).padStart(2, "0")} ${smallName}` : "";
    return `${Math.floor(seconds / large)} ${largeName}${rest}`;
  }

  function span(seconds) {
    if (seconds < MINUTE) return `${seconds} s`;
    if (seconds < HOUR) return two(seconds, MINUTE, "min", 1, "s");
    if (seconds < DAY) return two(seconds, HOUR, "h", MINUTE, "min");
    return two(seconds, DAY, "d", HOUR, "h");
  }

  // The server's clock counts, not this machine's: each tick says what it shows.
  let ahead = 0;

  function refreshAges() {
    const now = Date.now() + ahead;
    for (const time of document.querySelectorAll("time.age, time.lasting")) {
      const seconds = Math.max(0, Math.floor((now - Date.parse(time.dateTime)) / 1000));
      const text = time.classList.contains("age") ? ago(seconds) : span(seconds);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  setInterval(refreshAges, AGES_EVERY);

  // Live or not, and since when.

  let heardAt = 0, connection = null, isClosed = false;

  function sayLive() {
    const state = document.getElementById("live-state");
    if (!state) return;
    state.classList.remove("stale");
    if (state.textContent !== "live") state.textContent = "live";
  }

  function sayStale() {
    const state = document.getElementById("live-state");
    if (!state || state.classList.contains("stale")) return;
    const since = heardAt ? `no news since ${new Date(heardAt + ahead).toISOString().slice(11, 16)} UTC` : "not live";
    state.classList.add("stale");
    state.textContent = since;
    state.setAttribute("role", "status");
  }

  function heard(event) {
    heardAt = Date.now();
    connection = event.detail.connection ?? connection;
    sayLive();
  }

  document.addEventListener("htmx:sse:after:connection", heard);
  document.addEventListener("htmx:sse:after:message", heard);
  document.addEventListener("tick", (event) => {
    const told = Date.parse(event.detail.data);
    if (!Number.isNaN(told)) ahead = told - Date.now();
  });
  document.addEventListener("htmx:sse:before:connection", (event) => {
    if (event.detail.connection.attempt > 0) sayStale();
  });
  document.addEventListener("htmx:sse:close", (event) => {
    isClosed = event.detail.reason === "message";
    sayStale();
  });
  document.addEventListener("htmx:sse:error", (event) => {
    sayStale();
    // Signed out, or no longer allowed: the page itself leads to where it says so.
    if (event.detail.status === 401 || event.detail.status === 403) location.reload();
  });

  // A connection may die without a word: a laptop that slept, a cable that was pulled.
  setInterval(() => {
    if (!heardAt || isClosed || document.hidden || Date.now() - heardAt < SILENCE) return;
    sayStale();
    connection?.reader?.cancel();
  }, WATCH_EVERY);

  // What failed is said; the page stays as it is.

  function sayTrouble(text) {
    const trouble = document.getElementById("trouble");
    if (trouble) trouble.textContent = text;
  }

  document.addEventListener("htmx:response:error", (event) => {
    const { status, headers } = event.detail.ctx.response;
    const isSaidInPlace = status === 409 || status === 422 || headers.has("HX-Redirect");
    if (!isSaidInPlace) sayTrouble(`That did not work (error ${status}). Reload the page and try again.`);
  });
  document.addEventListener("htmx:error", (event) => {
    const method = event.detail.ctx?.request?.method;
    if (method && method !== "GET") sayTrouble("The server can't be reached; nothing was sent.");
  });
  document.addEventListener("htmx:before:request", () => sayTrouble(""));

  // Focus: an element that is replaced gives it to its successor, a button that is gone to its row's link, a row that
  // is gone to the one that took its place.

  let focused = null;

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("tr[id]");
    focused = { id: event.target.id, row: row?.id, place: row ? [...row.parentElement.rows].indexOf(row) : -1 };
  });

  function placeOfFocus() {
    if (!focused.row) return null;
    const rows = document.getElementById("rows")?.rows ?? [];
    return document.getElementById(focused.row) ?? rows[Math.min(focused.place, rows.length - 1)];
  }

  document.addEventListener("htmx:after:swap", () => {
    if (!focused || (document.activeElement && document.activeElement !== document.body)) return;
    const successor = focused.id && document.getElementById(focused.id);
    const fallback = placeOfFocus()?.querySelector("a") ?? document.querySelector("#notice a");
    (successor || fallback)?.focus({ preventScroll: true });
  });

  // A log that was read to its end stays at its end.

  let wasAtEnd = true;

  function logText() {
    return document.getElementById("log-text");
  }

  function scrollLog() {
    const log = logText();
    if (log && wasAtEnd) log.scrollTop = log.scrollHeight;
  }

  document.addEventListener("htmx:before:swap", () => {
    const log = logText();
    if (log) wasAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  });
  document.addEventListener("htmx:after:swap", scrollLog);
  document.addEventListener("DOMContentLoaded", scrollLog);
})();
