/**
 * idempotent-fetch: one operation of a person, done once, however often it has to be sent.
 *
 * Everything about keys, attempts and answers is here, and nothing about the page. It follows the table of answers in the
 * README of idem, and works with any server that follows the Idempotency-Key draft. No dependency, no build.
 *
 *     const operation = prepare({ method: "POST", url: "/orders", headers, body });  // when the person acts
 *     keep("order", operation);                                                      // before anything is sent
 *     const outcome = await send("order", operation, { headers: async () => ({ Authorization: await token() }) });
 *
 * and when the page is loaded: `const operation = pending("order")`, and if there is one, `send` it.
 *
 * - One key for one operation. It is made before the first attempt, and a retry, a reload or another try by the person
 *   uses it again. It is a UUIDv7: a server can tell how old the operation is.
 * - What is sent again is what was sent first: the request is kept with its key. What the form says by now is not asked.
 * - It is kept in `sessionStorage`, which is the tab's. It outlives a reload, and a duplicated tab has a copy: both then
 *   send the same operation, and both get its answer. Two tabs in which the same thing can be ordered independently of each
 *   other are not this module's business, because it cannot know that they mean one thing: see `basket.js`.
 * - The key goes when the operation is over (`done`, `refused`), and in no other case. Where the outcome is not known the
 *   person is told so, and may try again with the same key. A new one could do it twice.
 * - Secrets do not belong into `request.headers`, which are kept; `headers` is asked at each attempt instead, so that a
 *   token may be renewed in between.
 */

const PREFIX = "idempotent-fetch:";

/** Lengths of time, in milliseconds. */
export const LIMITS = Object.freeze({
  /** How long one attempt is waited for. */
  attempt: 10_000,
  /** Behind that no attempt is begun, and the person is told that the outcome is not known. Time offline does not count. */
  budget: 60_000,
  /** The pause before the n-th retry is a random part of `base * 2^(n-1)`, or of `cap` where that is less. */
  base: 500,
  cap: 10_000,
  /** An older operation is not sent again. It must be less than the server retains keys for, 72 hours for an order. */
  age: 24 * 3_600_000,
});

/** What is being sent by this page, by key: whoever sends the same once more waits for the same outcome. */
const running = new Map();

/**
 * A new operation with a key of its own. Call it when the person acts, once.
 * `state` is whatever the page wants to find beside a pending operation; both have to survive JSON.
 */
export function prepare({ method, url, headers = {}, body }, state = null) {
  return { key: newKey(), request: { method, url, headers, body }, state, attempts: 0 };
}

/** Remembers the operation under its name. Throws where the browser keeps nothing: then nothing must be sent. */
export function keep(name, operation) {
  sessionStorage.setItem(PREFIX + name, JSON.stringify(operation));
}

/** The operation of this name that is not over yet, or `null`. */
export function pending(name) {
  return JSON.parse(sessionStorage.getItem(PREFIX + name));
}

/** Forgets the operation, if it is still the one with this key: the person gives it up, or it is over. */
export function forget(name, key) {
  if (pending(name)?.key === key) sessionStorage.removeItem(PREFIX + name);
}

/**
 * Sends a kept operation until it is over or the budget is spent, and resolves to `{ kind, answer, replayed, why }`:
 *
 * - `done`: the answer is a success; `replayed` if it is that of an earlier attempt. The key is gone.
 * - `refused`: the answer is a refusal, and stays so. The key is gone: who corrects the request does something new.
 * - `denied`: not known who asks, or not allowed (401, 403). An earlier attempt may have got through, so the key stays.
 * - `unknown`: no answer that says anything within the budget. The key stays; `send` again.
 * - `unclear`: nobody but a person can find out (`why` is `"old"` if it was too old to be sent). The key stays until
 *   `forget`.
 *
 * `answer` is `{ status, headers, text, problem }`, or `null` where none came. `headers()` may be asynchronous; where it
 * fails, the attempt has failed. `tell(event)` is told `{ phase, attempt }` with the phases `offline`, `sending` and
 * `waiting` (with the `pause` in milliseconds and the `answer` that made it wait); `limits` replaces some of `LIMITS`. It
 * rejects only if the operation cannot be kept.
 */
export function send(name, operation, options = {}) {
  const { key } = operation;
  if (!running.has(key)) {
    const outcome = insist(name, operation, options).finally(() => running.delete(key));
    running.set(key, outcome);
  }
  return running.get(key);
}

async function insist(name, operation, { headers = () => ({}), tell = () => {}, limits = {} }) {
  const limit = { ...LIMITS, ...limits };
  const { key } = operation;
  let left = limit.budget;
  for (let retry = 0; ; retry += 1) {
    if (!navigator.onLine) {
      tell({ phase: "offline", attempt: operation.attempts });
      await online();
    }
    // Looked at each time: a laptop may have slept.
    if (Date.now() - madeAt(key) > limit.age) return { kind: "unclear", why: "old", answer: null };
    operation.attempts += 1;
    keep(name, operation);
    const attempt = operation.attempts;
    tell({ phase: "sending", attempt });
    const start = performance.now();
    const answer = await ask(operation, headers, limit.attempt);
    left -= performance.now() - start;
    const verdict = answer === null ? "again" : judge(answer);
    if (verdict !== "again") {
      if (verdict === "done" || verdict === "refused") forget(name, key);
      const replayed = answer.headers.get("Idempotent-Replayed") === "true";
      return { kind: verdict, answer, replayed };
    }
    const pause = pauseBefore(retry, limit) + (answer?.retryAfter ?? 0);
    if (pause >= left) return { kind: "unknown", answer };
    left -= pause;
    tell({ phase: "waiting", attempt, pause, answer });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** One attempt: its answer, or `null` if none came, or not all of it. */
async function ask({ key, request }, headers, patience) {
  const { method, url, body } = request;
  // Without a network nothing more will come, and the person is told so at once.
  const gone = new AbortController();
  const abort = () => gone.abort();
  addEventListener("offline", abort);
  try {
    const response = await fetch(url, {
      method,
      body,
      headers: { ...request.headers, ...(await headers()), "Idempotency-Key": `"${key}"` },
      cache: "no-store",
      signal: AbortSignal.any([AbortSignal.timeout(patience), gone.signal]),
    });
    const text = await response.text();
    const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
    return {
      status: response.status,
      headers: response.headers,
      text,
      problem: isProblem ? parsed(text) : {},
      retryAfter: milliseconds(response.headers.get("Retry-After")),
    };
  } catch {
    return null;
  } finally {
    removeEventListener("offline", abort);
  }
}

/**
 * What an answer means for the operation: it is over (`done`, `refused`), to be sent `again` with the same key, or for a
 * person to see to (`denied`, `unclear`). `problem` is the RFC 9457 body, or empty.
 */
export function judge({ status, problem = {}, retryAfter = null }) {
  const { code, retryable } = problem;
  if (retryable === true) return "again";
  // Something may have been done under this key, and this answer does not say what.
  if (code === "idempotency-key-expired" || code === "idempotency-key-reused") return "unclear";
  if (status >= 500) return retryable === false ? "unclear" : "again";
  if ([408, 425, 429].includes(status)) return "again";
  // An earlier attempt is running. (Any other 202 is the operation's own answer.)
  if (status === 202 && retryAfter !== null) return "again";
  if (status < 400) return "done";
  return status === 401 || status === 403 ? "denied" : "refused";
}

/** The pause before the retry of this number, counted from 0: exponential, with full jitter. */
export function pauseBefore(retry, { base, cap } = LIMITS, random = Math.random) {
  return random() * Math.min(cap, base * 2 ** retry);
}

/** `Retry-After` (RFC 9110, section 10.2.3: seconds or a date) as a length from now; `null` where it says nothing. */
export function milliseconds(retryAfter, now = Date.now()) {
  if (retryAfter === null) return null;
  const length = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
  return Number.isNaN(length) ? null : Math.max(length, 0);
}

/** A UUIDv7 (RFC 9562, section 5.7): 48 bits of time, which the server can read, and 74 random ones. */
export function newKey(now = Date.now()) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** When a key was made, in milliseconds since 1970. */
function madeAt(key) {
  return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function online() {
  return new Promise((resolve) => addEventListener("online", resolve, { once: true }));
}
