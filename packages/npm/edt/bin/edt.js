#!/usr/bin/env node
// Starts the program of this platform, with the same arguments, input and output.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findProgram } from "../lib/program.js";

let program;
try {
  program = findProgram();
} catch (error) {
  console.error(`edt: ${error.message}`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C goes to both: the program decides what it means, and this process waits for it.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`edt: ${program} could not be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (status, signal) => {
  process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : status);
});
