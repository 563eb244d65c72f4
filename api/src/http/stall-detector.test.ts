import { ManualClock } from '@gwk/test/support/clock';
import type { Exchange, Reply } from './exchange.js';
import { InFlight } from './in-flight.js';
import { StallDetector } from './stall-detector.js';

/** A request under way since its arrival, whose body has come or has not. */
function underWay(clock: ManualClock, workingSince: number): { clock: ManualClock; late: number } {
  const seen = { clock, late: 0 };
  const inFlight = new InFlight(
    new StallDetector(clock),
    clock,
    (req) => {
      seen.late++;
      inFlight.leave(req);
    },
    () => undefined,
  );
  const req = { arrivedAt: clock.now(), workingSince, complete: workingSince !== 0 } as Exchange;
  inFlight.enter(req, { req } as unknown as Reply);
  return seen;
}

test('answers 500 after 4.5 s of work', () => {
  const clock = new ManualClock();
  const seen = underWay(clock, clock.now());
  clock.advance(4_499);
  expect(seen.late).toBe(0);
  clock.advance(1);
  expect(seen.late).toBe(1);
});

test('refuses a request whose body has not arrived after 20 s', () => {
  const seen = underWay(new ManualClock(), 0);
  seen.clock.advance(19_999);
  expect(seen.late).toBe(0);
  seen.clock.advance(1);
  expect(seen.late).toBe(1);
});

test('applies no time limit after a stall before it has read the data that arrived meanwhile', () => {
  const seen = underWay(new ManualClock(), 0);
  seen.clock.standStill(60_000);
  expect(seen.late).toBe(0);
  seen.clock.advance(750);
  expect(seen.late).toBe(0);
  seen.clock.advance(500);
  expect(seen.late).toBe(1);
});
