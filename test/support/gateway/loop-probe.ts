import { appendFileSync } from 'node:fs';
import { watchTurns } from '../turns.js';

/** Loaded into a program by `node --import`: writes the long turns of its event loop into a file. */
const EVERY_MS = 5;
const REPORTED_MS = 10;
const file = process.env['TEST_LOOP_FILE']!;

watchTurns(EVERY_MS, (ms) => {
  if (ms > REPORTED_MS) appendFileSync(file, `${ms}\n`);
}).unref();
