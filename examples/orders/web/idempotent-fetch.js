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
 * - The key goes when the operation is over (`done`, `refused`, `given-up`), and in no other case. Where the outcome is not
 *   known the person is told so, and may try again with the same key. A new one could do it twice.
 * - A refusal speaks for its own attempt. Behind an attempt that may have been done it is no word on the operation, unless
 *   the server marks it as the recorded answer: a proxy or a login may have refused what was done a moment ago.
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
  /** How long a browser that says it is offline is believed. Then it is tried all the same: the server may be near. */
  offline: 15_000,
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
  return { key: newKey(), request: { method, url, headers, body }, state, attempts: 0, mayBeDone: false };
}

/** Remembers the operation under its name. Throws where the browser keeps nothing: then nothing must be sent. */
export function keep(name, operation) {
  sessionStorage.setItem(PREFIX + name, JSON.stringify(operation));
}

/** The operation of this name that is not over yet, or `null`. What cannot be read is dropped. */
export function pending(name) {
  const operation = parsed(sessionStorage.getItem(PREFIX + name));
  if (typeof operation.key !== "string" || !operation.request) {
    sessionStorage.removeItem(PREFIX + name);
    return null;
  }
  // Nobody knows any more what became of those attempts.
  operation.mayBeDone ||= operation.attempts > 0;
  return operation;
}

/** Forgets the operation, if it is still the one with this key: the person gives it up, or it is over. */
export function forget(name, key) {
  if (pending(name)?.key === key) sessionStorage.removeItem(PREFIX + name);
}

/**
 * Sends a kept operation until it is over or the budget is spent, and resolves to `{ kind, answer, replayed, why }`:
 *
 * - `done`: the answer is a success; `replayed` if it is that of an earlier attempt. The key is gone.
 * - `refused`: the answer is a refusal, nothing was done, and it stays so. The key is gone: who corrects the request does
 *   something new.
 * - `denied`: not known who asks, or not allowed (401, 403). The key stays. `operation.mayBeDone` says whether an earlier
 *   attempt may have got through.
 * - `unknown`: no answer that says anything within the budget, or `signal` stopped it. The key stays; `send` again. Nothing
 *   was sent at all where `operation.mayBeDone` is false.
 * - `unclear`: the answer says nothing of what earlier attempts did, or cannot be understood (`why` is `"old"` if it was too
 *   old to be sent). The key stays until `forget`. To `send` again is safe.
 * - `given-up`: it is no longer wanted, by the word of `stillWanted`. The key is gone.
 *
 * `answer` is `{ status, headers, text, problem, … }`, or `null` where none came. The options, none of which is needed:
 *
 * - `headers()`: for one attempt; may be asynchronous, and has the attempt's time. Where it fails, the attempt has failed.
 * - `tell(event)` is told `{ phase, attempt }` with the phases `offline`, `sending` and `waiting` (with the `pause` in
 *   milliseconds and the `answer` that made it wait).
 * - `signal`: an AbortSignal by which the person stops it.
 * - `stillWanted(key)`, asynchronous: asked before each attempt, because it may have been given up elsewhere.
 * - `isShared(key)`, asynchronous: whether others send it too, so that a refusal here does not mean that nothing was done.
 * - `isAnswer(answer)`: whether a success looks like one of this operation. A login page does not.
 * - `limits` replaces some of `LIMITS`.
 *
 * It rejects if the operation cannot be kept before its first attempt, if the browser is too old, or if an option does.
 */
export function send(name, operation, options = {}) {
  const { key } = operation;
  if (!running.has(key)) {
    const outcome = insist(name, operation, options).finally(() => running.delete(key));
    running.set(key, outcome);
  }
  return running.get(key);
}

async function insist(name, operation, options) {
  const { headers = () => ({}), tell = () => {}, signal = new AbortController().signal } = options;
  const { stillWanted = () => true, isShared = () => false, isAnswer = () => true } = options;
  const limit = { ...LIMITS, ...options.limits };
  const { key } = operation;
  let left = limit.budget;
  let retry = 0;
  let answer = null;
  for (;;) {
    const isOffline = !navigator.onLine;
    if (isOffline) {
      tell({ phase: "offline", attempt: operation.attempts });
      await passed(limit.offline, signal, "online");
    }
    if (signal.aborted) return { kind: "unknown", answer };
    // Looked at each time: a laptop may have slept.
    if (Date.now() - madeAt(key) > limit.age) return { kind: "unclear", why: "old", answer: null };
    if (!(await stillWanted(key))) {
      forget(name, key);
      return { kind: "given-up", answer: null };
    }
    const clock = AbortSignal.timeout(limit.attempt);
    const earlier = operation.mayBeDone;
    const attempt = begun(name, operation);
    tell({ phase: "sending", attempt });
    const start = performance.now();
    const asked = await ask(operation, headers, [clock, signal]);
    answer = asked.answer;
    left -= performance.now() - start;
    operation.mayBeDone = earlier || (asked.isSent && mayHaveArrived(answer));
    let verdict = answer === null ? "again" : judge(answer, earlier);
    if (verdict === "done" && !isAnswer(answer)) verdict = "unclear";
    if (verdict === "refused" && !answer.replayed && (await isShared(key))) verdict = "unclear";
    if (verdict !== "again") {
      if (verdict === "done" || verdict === "refused") forget(name, key);
      return { kind: verdict, answer, replayed: answer.replayed };
    }
    // It has waited for the network already, and does so again.
    if (isOffline && !navigator.onLine) continue;
    const pause = pauseBefore(retry, limit) + (answer?.retryAfter ?? 0);
    retry += 1;
    if (pause >= left || signal.aborted) return { kind: "unknown", answer };
    left -= pause;
    tell({ phase: "waiting", attempt, pause, answer });
    await passed(pause, signal);
  }
}

/** Counts an attempt, and writes down that it may be done from now on. The attempt's number. */
function begun(name, operation) {
  const { attempts, mayBeDone } = operation;
  operation.attempts += 1;
  operation.mayBeDone = true;
  try {
    keep(name, operation);
  } catch (error) {
    if (attempts === 0) {
      Object.assign(operation, { attempts, mayBeDone });
      throw error;
    }
    // Its key is kept since the first attempt, and `pending` knows that there was one.
  }
  return operation.attempts;
}

/** One attempt: its answer, or `null` if none came, or not all of it; and whether anything was sent. */
async function ask({ key, request }, headers, signals) {
  const { method, url, body } = request;
  const gone = new AbortController();
  const abort = () => gone.abort();
  // Without a network nothing more will come, and the person is told so at once.
  addEventListener("offline", abort);
  for (const signal of signals) signal.addEventListener("abort", abort);
  let isSent = false;
  try {
    const own = await Promise.race([headers(), aborted(gone.signal)]);
    isSent = true;
    const response = await fetch(url, {
      method,
      body,
      headers: { ...request.headers, ...own, "Idempotency-Key": `"${key}"` },
      cache: "no-store",
      // Where it leads to is not the answer to this operation.
      redirect: "manual",
      signal: gone.signal,
    });
    const text = await response.text();
    const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      problem: isProblem ? parsed(text) : {},
      retryAfter: milliseconds(response.headers.get("Retry-After")),
      replayed: response.headers.get("Idempotent-Replayed") === "true",
    };
    return { answer, isSent };
  } catch {
    return { answer: null, isSent };
  } finally {
    removeEventListener("offline", abort);
    for (const signal of signals) signal.removeEventListener("abort", abort);
  }
}

/**
 * What an answer means for the operation: it is over (`done`, `refused`), to be sent `again` with the same key, or for a
 * person to see to (`denied`, `unclear`). `problem` is the RFC 9457 body, or empty; `mayBeDone`: whether an attempt before
 * this one may have been done.
 */
export function judge({ status, headers, text, problem, retryAfter, replayed }, mayBeDone) {
  // The recorded answer is the last word.
  if (replayed) return status < 400 ? "done" : status < 500 ? "refused" : "unclear";
  const { code, retryable } = problem;
  if (retryable === true) return "again";
  // Something may have been done under this key, and this answer does not say what.
  if (code === "idempotency-key-expired" || code === "idempotency-key-reused") return "unclear";
  if (status >= 500) return retryable === false ? "unclear" : "again";
  if ([408, 425, 429].includes(status)) return "again";
  // An earlier attempt is running. (Any other 202 is the operation's own answer.)
  const isPointer = status === 202 && headers.has("Location") && retryAfter !== null && text === "";
  if (isPointer && mayBeDone) return "again";
  if (status >= 200 && status < 300) return "done";
  // It leads elsewhere: browsers say 0, and not where.
  if (status < 400) return "unclear";
  if (status === 401 || status === 403) return "denied";
  return mayBeDone ? "unclear" : "refused";
}

/** Whether an attempt with this answer, or with none, may be done: not where it was stopped in front of the operation. */
function mayHaveArrived(answer) {
  return answer === null || answer.replayed || ![401, 403, 425, 429].includes(answer.status);
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
export function madeAt(key) {
  return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
}

/** The members of a JSON text; none where it is something else. */
function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Resolves after this length of time, or before that when it is stopped or this event comes. */
function passed(length, signal, event = null) {
  return new Promise((resolve) => {
    setTimeout(resolve, length);
    signal.addEventListener("abort", resolve, { once: true });
    if (event !== null) addEventListener(event, resolve, { once: true });
  });
}

/** Rejects when this is aborted, and never ends otherwise. */
function aborted(signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
