import { GOOD_LINE, Line, type LineClock, type LineFaults } from './line.js';

function carried(faults: LineFaults, chances: number[] = []) {
  const arrived: number[] = [];
  let timers: { moment: number; arrive: () => void }[] = [];
  let now = 0;
  const clock: LineClock = {
    now: () => now,
    at: (moment, arrive) => void timers.push({ moment, arrive }),
  };
  const line = new Line(
    () => faults,
    () => chances.shift() ?? 1,
    clock,
  );
  /** Fires the last of several timers for one moment first, as Node may do. */
  const pass = (ms: number): void => {
    now += ms;
    const due = timers.filter(({ moment }) => moment <= now).reverse();
    timers = timers.filter(({ moment }) => moment > now);
    for (const { arrive } of due.sort((one, other) => one.moment - other.moment)) arrive();
  };
  return { arrived, pass, send: (number: number) => line.carry(() => arrived.push(number)) };
}

describe('a line', () => {
  it('delivers at once without faults', () => {
    const { arrived, send } = carried(GOOD_LINE);
    send(1);
    expect(arrived).toEqual([1]);
  });

  it('keeps the order when its latency drops', () => {
    const faults = { ...GOOD_LINE, latencyMs: 60 };
    const { arrived, pass, send } = carried(faults);
    send(1);
    faults.latencyMs = 0;
    send(2);
    pass(59);
    expect(arrived).toEqual([]);
    pass(1);
    expect(arrived).toEqual([1, 2]);
  });

  it('keeps the order when its latency drops in steps, whichever timer fires first', () => {
    const faults = { ...GOOD_LINE, latencyMs: 40 };
    const { arrived, pass, send } = carried(faults);
    for (let number = 0; number < 400; number++) {
      send(number);
      if (number % 10 !== 0) continue;
      faults.latencyMs = Math.max(0, faults.latencyMs - 1);
      pass(1);
    }
    pass(100);
    expect(arrived).toEqual(Array.from({ length: 400 }, (_, number) => number));
  });

  it('loses stanzas according to the random numbers', () => {
    const { arrived, send } = carried({ ...GOOD_LINE, loss: 0.5 }, [0.4, 0.6, 0.1, 0.9]);
    [1, 2, 3, 4].forEach(send);
    expect(arrived).toEqual([2, 4]);
  });

  it('delivers nothing while frozen, including stanzas in transit', () => {
    const faults = { ...GOOD_LINE, latencyMs: 20 };
    const { arrived, pass, send } = carried(faults);
    send(1);
    faults.frozen = true;
    send(2);
    pass(40);
    expect(arrived).toEqual([]);
  });
});
