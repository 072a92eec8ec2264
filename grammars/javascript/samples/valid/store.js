#!/usr/bin/env node
// Every construct that the queries of JavaScript name.
"use strict";
import fs from "fs";
import { one, two as other } from "./lib.js";
export { one } from "./lib.js";
export * from "./more.js";

const limit = 10;
let count = 0,
  last = null;
var total = 1;
var total = 2;

const options = {
  limit,
  name: "a",
  [limit]: 1,
  [limit]: 2,
  get size() {
    return 1;
  },
  set size(value) {},
  reset() {},
};

class Store {
  static size = 1;
  size = 2;
  #hidden;

  constructor(parent) {
    this.parent = parent;
    this.name = parent.name;
    this.rate = 0.5;
    this.title = "text (";
    this.open = true;
    this.shut = false;
    this.next = null;
    this.none = undefined;
    this.self = this;
    this.run = () => go();
    this.walk = function () {};
    parent = parent.parent;
    parent = parent.parent;
    count += 1;
    count += 1;
    items[count++] = 0;
    items[count++] = 0;
  }

  get area() {
    return /a[(]b/g.test(`text ${limit} (`);
  }

  set area(value) {}

  static area() {}

  static get total() {
    return 1;
  }
}

function* numbers() {
  yield 1;
  yield 1;
}

export function walk(store) {
  for (let i = 0; i < limit; i++) {
    if (i === 1) continue;
    break;
  }
  for (let i = 0; i < limit; i++) log();
  for (const item of store.items) {
    const limit = item;
    log(limit);
    log(limit);
  }
  while (count) count--;
  do {
    count++;
  } while (count < 3);
  switch (store.kind) {
    case 1: {
      const inner = 1;
      return inner;
    }
    case 2: {
      const inner = 2;
      return inner;
    }
    default:
      throw new Error("kind");
  }
}

export class Other {}

try {
  walk(new Store());
} catch (error) {
  function helper() {}
} finally {
  function helper() {}
}

describe("store", () => {
  it("walks", () => {});
  it("stops", function () {});
});
