/**
 * The checkout page: from the form to an operation, and from what happens to it to words. What is to be sent again, and with
 * which key, is decided in `idempotent-fetch.js`; which basket is meant, in `basket.js`.
 */

import { claim, look, settle, watch } from "./basket.js";
import { forget, keep, pending, prepare, send } from "./idempotent-fetch.js";

const NAME = "order";
const FORMS = "checkout:forms";

/** A shop has a session here, and its token is renewed now and then. */
const TOKEN = "alice:demo";

const element = (id) => document.getElementById(id);
const [form, trouble, status] = ["checkout", "trouble", "status"].map(element);
const euros = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });
const money = (cents) => euros.format(cents / 100);
const seconds = (length) => `${(length / 1000).toFixed(1)} s`;

/** The number of the basket that the form shows. */
let shown = 0;
/** The operation that is not over. */
let current = null;
let isBusy = true;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void act();
});
element("forget").addEventListener("click", () => void giveUp());
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
  restore();
  void list();
  await guarded(async () => {
    const basket = await look();
    shown = basket.number;
    current = pending(NAME) ?? basket.operation;
    if (current === null) return;
    render();
    trace("The page was loaded: an order that is not over goes on");
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
      keep(NAME, current);
      if (!claimed.isOurs) trace("Another tab orders this basket: this one sends the same, with the same key");
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
  const outcome = await send(NAME, current, { headers, tell: progress, limits });
  const { kind, answer, replayed } = outcome;
  trace(`${answer?.status ?? "No answer"}${replayed ? ", the answer to an earlier attempt" : ""}`);
  switch (kind) {
    case "done": {
      const order = JSON.parse(answer.text);
      shown = (await settle(current, order.id)).number;
      current = null;
      empty();
      const text = `Order ${order.id} is placed: ${money(order.total_cents)}.`;
      if (replayed) {
        say("recovered", text, "The answer to an earlier attempt was recovered. Nothing was ordered twice.");
      } else {
        say("done", text);
      }
      return list();
    }
    case "refused":
      await settle(current);
      current = null;
      return say("refused", "Nothing was ordered.", `${reason(answer)} Change the basket and order again.`);
    case "denied":
      return say("denied", "The order was not let through.", "Log in, and try again: it stays the same order.");
    case "unknown":
      return say(
        "unknown",
        "We do not know yet whether the order is placed.",
        "Try again whenever you like: it stays the same order, and cannot be placed twice.",
      );
    default:
      return say(
        "unclear",
        "We cannot find out whether the order was placed.",
        `${answer === null ? "It is too old to be sent again." : reason(answer)} Look at your orders before you order again.`,
      );
  }
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
    await list();
  });
}

/** Another tab has done something with the basket. */
async function refresh() {
  const basket = await look();
  if (isBusy) return;
  if (current !== null && basket.operation?.key !== current.key) {
    forget(NAME, current.key);
    current = null;
    say("idle", "");
  }
  if (current === null && basket.number !== shown) await gone(basket);
  else await list();
  render();
}

/** The basket that the form shows has become an order meanwhile. */
async function gone({ number, before }) {
  shown = number;
  empty();
  say("elsewhere", `This basket was ordered in another tab: order ${before}.`, "Here is a new one.");
  await list();
}

/** One thing at a time, and nothing is sent if it cannot be kept. */
async function guarded(work) {
  isBusy = true;
  render();
  try {
    await work();
  } catch (error) {
    say("broken", "This page cannot go on.", "Nothing is sent that the browser cannot keep. Reload the page.");
    console.error(error);
  } finally {
    isBusy = false;
    render();
  }
}

function progress({ phase, attempt, pause, answer }) {
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
  // What is being ordered cannot be changed any more.
  element("basket").disabled = isBusy || current !== null;
  const cents = products().map(({ value, dataset }) => Number(value) * Number(dataset.cents));
  element("total").textContent = money(cents.reduce((sum, part) => sum + part));
}

function trace(text) {
  const line = document.createElement("li");
  line.textContent = text;
  element("trace").append(line);
}

async function list() {
  let orders;
  try {
    const response = await fetch("/orders", { headers: { Authorization: `Bearer ${TOKEN}` } });
    orders = await response.json();
  } catch {
    // It is shown again after the next order.
    return;
  }
  element("none").hidden = orders.length > 0;
  const lines = orders.map(({ id, total_cents, status }) => {
    const line = document.createElement("li");
    line.textContent = `Order ${id}, ${money(total_cents)}, ${status}`;
    return line;
  });
  element("orders").replaceChildren(...lines);
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

/** The forms outlive a reload, disabled or not. */
function remember() {
  sessionStorage.setItem(FORMS, JSON.stringify(fields().map(({ name, value }) => [name, value])));
}

function restore() {
  const values = new Map(JSON.parse(sessionStorage.getItem(FORMS)));
  for (const field of fields()) {
    if (values.has(field.name)) field.value = values.get(field.name);
  }
}

function fields() {
  return [...form.elements, ...trouble.elements].filter(({ name }) => name);
}
