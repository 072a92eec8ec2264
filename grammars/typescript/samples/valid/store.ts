#!/usr/bin/env deno
// Every construct that the queries of TypeScript name.
"use strict";
import fs from "fs";
import { one, two as other } from "./lib";
export { one } from "./lib";
export * from "./more";

const limit = 10;
let count = 0;
var total = 1;
var total = 2;

type Point = { x: number; y: number };
const Point = limit;
type Label = `label ( ${string}`;

enum Colour {
  Red,
  Green,
  Blue = 4,
}

interface Shape {
  name: string;
  area(): number;
  area(scale: number): number;
}

// Interfaces merge.
interface Shape {
  colour: Colour;
}

namespace Tools {
  export const limit = 1;
}

namespace Tools {
  export const more = 2;
}

declare module "one" {
  function open(path: string): void;
}

function parse(text: string): string;
function parse(text: number): number;
function parse(text: any): any {
  return text;
}

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

abstract class Base {
  abstract draw(): void;
}

@component
class Store extends Base {
  private static size = 1;
  private size = 2;

  constructor(parent: Store) {
    super();
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

  get area(): boolean {
    return /a[(]b/g.test(`text ${limit} (`);
  }

  set area(value) {}

  static area(): void {}

  scaled(by: number): number;
  scaled(by: string): string;
  scaled(by: any): any {
    return by;
  }

  draw(): void {}
}

function* numbers() {
  yield 1;
  yield 1;
}

export function walk(store: Store) {
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
