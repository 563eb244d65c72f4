import { chaosRun } from './chaos-run.js';
import { report } from '../support/gateway/check-traffic.js';

/**
 * An instance on the real protocol while every part fails repeatedly. The seed determines the faults and
 * their times: `make chaos SEEDS=7 SECONDS=3600` runs one seed for an hour.
 */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 60);
/** A backlog of a minute drains quickly. A run of an hour has to send what it accepts. */
const PER_SECOND = Number(process.env['CHAOS_PER_SECOND'] ?? 20);
const SEEDS = (process.env['CHAOS_SEEDS'] ?? '1').split(',').map(Number);

describe('an instance under faults', () => {
  test.each(SEEDS)(
    `seed %i, ${SECONDS} s: phones read accepted messages once and in order, inbound messages are reported once and in order`,
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
