import { chaosRun } from './chaos-run.js';
import { report } from '../support/gateway/verdict.js';

/**
 * A number on the real protocol while everything under it fails, again and again. Which faults, and when, is made of
 * a seed: `make chaos SEEDS=7 SECONDS=3600` runs one of them for an hour.
 */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 60);
/** A backlog of a minute is soon gone; a run of an hour has to send what it accepts. */
const PER_SECOND = Number(process.env['CHAOS_PER_SECOND'] ?? 20);
const SEEDS = (process.env['CHAOS_SEEDS'] ?? '1').split(',').map(Number);

describe('a number in chaos', () => {
  test.each(SEEDS)(
    `seed %i, ${SECONDS} s: what is accepted is read once and in order, what comes is told once and in order`,
    async (seed) => {
      const {
        sums,
        faults,
        report: explanation,
      } = await chaosRun({
        seed,
        seconds: SECONDS,
        perSecond: PER_SECOND,
      });
      report(`chaos with seed ${seed}, ${SECONDS} s`, sums);
      if (faults.length > 0) throw new Error(explanation);
    },
  );
});
