/**
 * The basket, and which operation orders it: one for all tabs of this browser.
 *
 * A key stands for what a person wants done, and only the shop knows when two tabs mean the same. Here they do if both show
 * the same basket. So the basket has a number, and whoever orders it writes down the operation beside that. Who comes second
 * finds it, and sends the same operation with the same key instead of a new one; who comes later, when it is over, finds
 * that his basket is no longer there. It also outlives a tab that is closed in the middle. What was given up is written down
 * as well: another tab may be about to send it once more.
 *
 * It is in IndexedDB because a look and a write are one transaction there, whichever tabs do it at the same instant. In
 * `localStorage` they are two, and both tabs could find nothing. A shop with accounts keeps baskets at the server, and has
 * the same rule there, in a transaction of its database: one order for one basket.
 */

import { LIMITS, madeAt } from "./idempotent-fetch.js";

const STORE = "baskets";
const OWN = "own";

/** Tells other tabs that the basket has changed. */
const channel = new BroadcastChannel("basket");

/** Calls back when another tab has changed the basket. */
export function watch(changed) {
  channel.onmessage = changed;
}

/** The basket: its number, the operation that orders it or `null`, and the order that the basket before it became. */
export async function look() {
  return (await change(() => {})).basket;
}

/**
 * The operation that orders the basket of this number: the one that another tab has begun, or what `make` returns (then
 * `isOurs`). `null` if that basket is gone, because it has been ordered.
 */
export async function claim(number, make) {
  let operation = null;
  let isOurs = false;
  const { basket } = await change((basket) => {
    if (basket.number !== number) return;
    isOurs = basket.operation === null;
    if (isOurs) basket.operation = make();
    else basket.operation.isShared = true;
    operation = basket.operation;
  });
  return { operation, isOurs, basket };
}

/** Writes down that more than one page may send the operation with this key. */
export async function share(key) {
  await change(({ operation }) => {
    if (operation?.key === key) operation.isShared = true;
  });
}

/** Whether more than one page may have sent it, or one of them has ended it already. */
export async function isShared(key) {
  const { operation } = await look();
  return operation?.key !== key || operation.isShared === true;
}

/** Whether the operation with this key may be sent: nobody has ended it without an order. */
export async function stillWanted(key) {
  return !(await look()).over.includes(key);
}

/**
 * The operation is over. If it ended in an order, a new basket is begun; the operation's state says in place of which. If
 * not, no tab sends it any more.
 */
export async function settle({ key, state }, order = null) {
  const { basket, isChanged } = await change((basket) => {
    if (basket.operation?.key === key) basket.operation = null;
    if (order === null) {
      // Older ones are not sent anyway.
      const isYoung = (one) => Date.now() - madeAt(one) < 2 * LIMITS.age;
      basket.over = [...basket.over.filter(isYoung), key];
      return;
    }
    if (basket.number !== state.basket) return;
    basket.number += 1;
    basket.operation = null;
    basket.before = order;
  });
  if (isChanged) channel.postMessage("changed");
  return basket;
}

/** Looks at the basket and changes it, in one transaction. */
async function change(how) {
  const database = await opened();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE);
      const found = store.get(OWN);
      let result;
      found.onsuccess = () => {
        const basket = { number: 1, operation: null, before: null, over: [], ...found.result };
        const was = JSON.stringify(basket);
        how(basket);
        const isChanged = JSON.stringify(basket) !== was;
        if (isChanged) store.put(basket, OWN);
        result = { basket, isChanged };
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

function opened() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("shop", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}
