import { ManualClock } from '@gwk/test/support/clock';
import type { Exchange, Reply } from './exchange.js';
import { InFlight } from './in-flight.js';

/** Enters a request at its arrival. `workingSince` is 0 while its body has not arrived. */
function enterRequest(clock: ManualClock, workingSince: number): { clock: ManualClock; late: number } {
  const entered = { clock, late: 0 };
  const inFlight = new InFlight(
    clock,
    (_, req) => {
      entered.late++;
      inFlight.leave(req);
    },
    () => undefined,
  );
  const req = { arrivedAt: clock.now(), workingSince, complete: workingSince !== 0 } as Exchange;
  inFlight.enter(req, { req } as unknown as Reply);
  return entered;
}

test('answers 500 after 4.5 s of work', () => {
  const clock = new ManualClock();
  const entered = enterRequest(clock, clock.now());
  clock.advance(4_499);
  expect(entered.late).toBe(0);
  clock.advance(1);
  expect(entered.late).toBe(1);
});

test('refuses a request whose body has not arrived after 20 s', () => {
  const entered = enterRequest(new ManualClock(), 0);
  entered.clock.advance(19_999);
  expect(entered.late).toBe(0);
  entered.clock.advance(1);
  expect(entered.late).toBe(1);
});

test('applies no time limit after a stall before it has read the data that arrived meanwhile', () => {
  const entered = enterRequest(new ManualClock(), 0);
  entered.clock.standStill(60_000);
  expect(entered.late).toBe(0);
  entered.clock.advance(750);
  expect(entered.late).toBe(0);
  entered.clock.advance(500);
  expect(entered.late).toBe(1);
});
