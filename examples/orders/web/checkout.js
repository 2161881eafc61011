/**
 * The checkout page: from the form to an operation, and from what happens to it to words. What is to be sent again, and with
 * which key, is decided in `idempotent-fetch.js`; which basket is meant, in `basket.js`.
 */

import { claim, isShared, look, settle, share, stillWanted, watch } from "./basket.js";
import { forget, keep, pending, prepare, send } from "./idempotent-fetch.js";

const NAME = "order";
const FORMS = "checkout:forms";

/** A shop has a session here, and its token is renewed now and then. */
const TOKEN = "alice:demo";

const UNCLEAR = "Try again: it stays the same order. Look at your orders before you give it up.";

const element = (id) => document.getElementById(id);
const [form, trouble, status] = ["checkout", "trouble", "status"].map(element);
const euros = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });
const money = (cents) => euros.format(cents / 100);
const seconds = (length) => `${(length / 1000).toFixed(1)} s`;

/** The number of the basket that the form shows; 0 as long as that is not known. */
let shown = 0;
/** The operation that is not over. */
let current = null;
/** By which the person stops it. */
let stopping = new AbortController();
let isBusy = true;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void act();
});
element("forget").addEventListener("click", () => void giveUp());
element("stop").addEventListener("click", () => stopping.abort());
for (const edited of [form, trouble]) {
  edited.addEventListener("submit", (event) => event.preventDefault());
  edited.addEventListener("input", () => {
    remember();
    render();
  });
}
watch(() => void refresh());
void start();

/** What was going on before the page was loaded goes on: in this tab, or in one that has been closed. */
async function start() {
  void list();
  await guarded(async () => {
    const restored = restore();
    const basket = await look();
    // A form that was filled in for another basket stays that one's.
    shown = restored ?? basket.number;
    current = pending(NAME) ?? basket.operation;
    if (current === null) {
      if (basket.number !== shown) return gone(basket);
      return remember();
    }
    render();
    trace("The page was loaded: an order that is not over goes on");
    // Another tab may have sent it, or have a copy of it and do so.
    current.mayBeDone = true;
    await share(current.key);
    keep(NAME, current);
    await follow();
  });
}

/** The person wants the order: a new operation, unless there is one that is not over. */
async function act() {
  if (isBusy || isEmpty()) return;
  await guarded(async () => {
    if (current === null) {
      const claimed = await claim(shown, operation);
      if (claimed.operation === null) return gone(claimed.basket);
      current = claimed.operation;
      if (!claimed.isOurs) {
        current.mayBeDone = true;
        trace("Another tab orders this basket: this one sends the same, with the same key");
      }
      keep(NAME, current);
    }
    await follow();
  });
}

function operation() {
  const items = quantities().filter(({ quantity }) => quantity !== 0);
  const request = {
    method: "POST",
    url: "/orders",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ items }),
  };
  return prepare(request, { basket: shown, items });
}

/** Sends the current operation until there is something to say. */
async function follow() {
  const limits = { budget: Math.max(1, Number(element("budget").value)) * 1000 };
  stopping = new AbortController();
  const { signal } = stopping;
  const isAnswer = (answer) => ordered(answer) !== null;
  const options = { headers, tell: progress, limits, signal, stillWanted, isShared, isAnswer };
  const { kind, answer, replayed } = await send(NAME, current, options);
  trace(`${answer?.status ?? "No answer"}${replayed ? ", the answer to an earlier attempt" : ""}`);
  switch (kind) {
    case "done":
      return placed(ordered(answer), replayed);
    case "refused":
      await settle(current);
      current = null;
      return say("refused", "Nothing was ordered.", `${reason(answer)} Change the basket and order again.`);
    case "given-up":
      return givenUp();
    case "denied":
      return say(
        "denied",
        current.mayBeDone ? "We do not know yet whether the order is placed." : "The order was not let through.",
        "Log in, and try again: it stays the same order.",
      );
    case "unknown":
      return say(
        "unknown",
        current.mayBeDone ? "We do not know yet whether the order is placed." : "The order has not been sent.",
        "Try again whenever you like: it stays the same order, and cannot be placed twice.",
      );
    default:
      return say(
        "unclear",
        "We cannot find out whether the order was placed.",
        answer === null
          ? "It is too old to be sent again. Look at your orders before you order again."
          : `${answer.status < 400 ? "What came is no answer to an order." : reason(answer)} ${UNCLEAR}`,
      );
  }
}

/** Said first: whatever fails behind it, this is so. */
async function placed({ id, total_cents }, replayed) {
  const text = `Order ${id} is placed: ${money(total_cents)}.`;
  if (replayed) {
    say("recovered", text, "The answer to an earlier attempt was recovered. Nothing was ordered twice.");
  } else {
    say("done", text);
  }
  const operation = current;
  current = null;
  void list();
  try {
    shown = (await settle(operation, id)).number;
    empty();
  } catch (error) {
    // The next page asks for its answer again, and gets the same.
    shown = 0;
    element("detail").textContent = "Reload this page before you order something else.";
    console.error(error);
  }
}

/** The order in an answer, or `null` where there is none. */
function ordered({ text }) {
  try {
    const order = JSON.parse(text);
    return Number.isInteger(order.id) && Number.isInteger(order.total_cents) ? order : null;
  } catch {
    return null;
  }
}

/** Another tab has ended the operation without an order. */
async function givenUp() {
  current = null;
  const basket = await look();
  if (basket.number !== shown) return gone(basket);
  say("elsewhere", "This order was given up in another tab.", "Nothing is sent any more. Look at your orders.");
  void list();
}

/** The person takes leave of an operation whose outcome is not known. */
async function giveUp() {
  if (isBusy || current === null) return;
  await guarded(async () => {
    forget(NAME, current.key);
    await settle(current);
    current = null;
    say("idle", "");
    element("order").focus();
    void list();
  });
}

/** Another tab has done something with the basket. */
async function refresh() {
  let basket;
  try {
    basket = await look();
  } catch {
    // It is looked at again before anything is ordered.
    return;
  }
  if (isBusy) return;
  if (current !== null && basket.operation?.key !== current.key) {
    forget(NAME, current.key);
    current = null;
    say("idle", "");
  }
  if (current === null && basket.number !== shown) gone(basket);
  else void list();
  render();
}

/** The basket that the form shows has become an order meanwhile. */
function gone({ number, before }) {
  const order = number === shown + 1 ? `: order ${before}` : "";
  shown = number;
  empty();
  say("elsewhere", `This basket is already ordered${order}.`, "Here is a new one.");
  void list();
}

/** One thing at a time, and nothing is sent if it cannot be kept. */
async function guarded(work) {
  isBusy = true;
  render();
  try {
    await work();
  } catch (error) {
    if (current?.mayBeDone) {
      say("unknown", "We do not know yet whether the order is placed.", "Reload this page: it stays the same order.");
    } else {
      say("broken", "This page cannot go on.", "Nothing is sent that the browser cannot keep. Reload the page.");
    }
    console.error(error);
  } finally {
    isBusy = false;
    render();
  }
}

function progress({ phase, attempt, pause, answer }) {
  if (phase !== "sending") element("stop").hidden = false;
  const what = current.state.items.map(({ sku, quantity }) => `${quantity} × ${sku}`).join(", ");
  if (phase === "offline") {
    trace("The browser is offline");
    say("offline", "You are offline.", `The order (${what}) is sent as soon as you are back.`);
  } else if (phase === "sending") {
    trace(`Attempt ${attempt}, key ${current.key}`);
    if (attempt === 1) say("sending", "Sending your order…", what);
    else say("retrying", "Sending your order once more…", `${what}; attempt ${attempt}`);
  } else {
    const why = answer === null ? "No answer" : `${answer.status}, not done yet`;
    trace(`${why}; the next attempt in ${seconds(pause)}`);
    say("retrying", "No answer yet. Trying again…", `${what}; attempt ${attempt} brought nothing`);
  }
}

/** For one attempt. What is to go wrong is counted down here. */
function headers() {
  const all = { Authorization: `Bearer ${TOKEN}` };
  const [fault, times] = [element("fault"), element("times")];
  if (fault.value !== "") {
    all["X-Demo-Fault"] = fault.value;
    if (Number(times.value) > 1) times.value = Number(times.value) - 1;
    else fault.value = "";
    remember();
  }
  return all;
}

function reason({ text, problem }) {
  let message = problem.detail;
  try {
    message ??= JSON.parse(text).message;
  } catch {
    // It is not one of the API's answers.
  }
  if (!message) return "The shop refused it.";
  return `${message[0].toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;
}

function say(state, headline, detail = "") {
  status.dataset.state = state;
  element("headline").textContent = headline;
  element("detail").textContent = detail;
}

/** What can be done now, and what it costs. */
function render() {
  const order = element("order");
  form.dataset.busy = String(isBusy);
  // Only until it is known which basket is shown. Later it would take the focus away from whoever has just pressed it.
  order.disabled = shown === 0;
  order.ariaDisabled = String(isBusy || isEmpty());
  order.textContent = isBusy ? "Ordering…" : current === null ? "Order" : "Try again";
  element("forget").hidden = isBusy || current === null;
  if (!isBusy) {
    // The button goes, and whoever has pressed it is not to be lost.
    if (document.activeElement === element("stop")) order.focus();
    element("stop").hidden = true;
  }
  // What is being ordered cannot be changed any more. A field that is disabled would lose the focus.
  for (const product of products()) {
    product.readOnly = isBusy || current !== null;
    product.ariaDisabled = String(product.readOnly);
  }
  const cents = products().map(({ value, dataset }) => Number(value) * Number(dataset.cents));
  element("total").textContent = money(cents.reduce((sum, part) => sum + part));
}

function trace(text) {
  const line = document.createElement("li");
  line.textContent = text;
  element("trace").append(line);
}

/** Only shows: whatever becomes of it, the order is what has been said of it. */
async function list() {
  try {
    const response = await fetch("/orders", {
      headers: { Authorization: `Bearer ${TOKEN}` },
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) return;
    const orders = await response.json();
    if (!Array.isArray(orders)) return;
    const lines = orders.map(({ id, total_cents, status }) => {
      const line = document.createElement("li");
      line.textContent = `Order ${id}, ${money(total_cents)}, ${status}`;
      return line;
    });
    element("none").hidden = orders.length > 0;
    element("orders").replaceChildren(...lines);
  } catch {
    // It is shown again after the next order.
  }
}

/** What the form says; a new operation is made of it. */
function quantities() {
  return products().map(({ name, value }) => ({ sku: name, quantity: Number(value) }));
}

/** Nothing to order: nor for the second click of somebody who clicks twice, and whose order is placed in between. */
function isEmpty() {
  return current === null && quantities().every(({ quantity }) => quantity === 0);
}

/** A new basket is begun. */
function empty() {
  for (const product of products()) product.value = "0";
  remember();
}

function products() {
  return Array.from(element("basket").querySelectorAll("input"));
}

/** The forms outlive a reload, with the number of the basket that they are filled in for. */
function remember() {
  if (shown === 0) return;
  const values = Object.fromEntries(fields().map(({ name, value }) => [name, value]));
  try {
    sessionStorage.setItem(FORMS, JSON.stringify({ basket: shown, values }));
  } catch {
    // Typing it once more is no harm.
  }
}

/** The number of the basket that the forms were filled in for; `null` if they were not, or it cannot be read. */
function restore() {
  try {
    const { basket, values } = JSON.parse(sessionStorage.getItem(FORMS));
    if (!Number.isInteger(basket)) return null;
    for (const field of fields()) field.value = values[field.name] ?? field.value;
    return basket;
  } catch {
    sessionStorage.removeItem(FORMS);
    return null;
  }
}

function fields() {
  return [...form.elements, ...trouble.elements].filter(({ name }) => name);
}
