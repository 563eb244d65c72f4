import { GOOD_LINE, Line, type LineFaults } from './line.js';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function carried(faults: LineFaults, chances: number[] = []) {
  const arrived: number[] = [];
  const line = new Line(
    () => faults,
    () => chances.shift() ?? 1,
  );
  return { arrived, send: (number: number) => line.carry(() => arrived.push(number)) };
}

describe('a line', () => {
  it('that is good carries at once', () => {
    const { arrived, send } = carried(GOOD_LINE);
    send(1);
    expect(arrived).toEqual([1]);
  });

  it('that is slow keeps the order, also when it becomes faster', async () => {
    const faults = { ...GOOD_LINE, latencyMs: 60 };
    const { arrived, send } = carried(faults);
    send(1);
    faults.latencyMs = 0;
    send(2);
    expect(arrived).toEqual([]);
    await pause(100);
    expect(arrived).toEqual([1, 2]);
  });

  it('that becomes faster in steps keeps the order, whichever timer of Node rings first', async () => {
    const faults = { ...GOOD_LINE, latencyMs: 40 };
    const { arrived, send } = carried(faults);
    for (let number = 0; number < 400; number++) {
      send(number);
      if (number % 10 !== 0) continue;
      faults.latencyMs = Math.max(0, faults.latencyMs - 1);
      await pause(1);
    }
    await pause(100);
    expect(arrived).toEqual(Array.from({ length: 400 }, (_, number) => number));
  });

  it('that loses a half loses what chance says', () => {
    const { arrived, send } = carried({ ...GOOD_LINE, loss: 0.5 }, [0.4, 0.6, 0.1, 0.9]);
    [1, 2, 3, 4].forEach(send);
    expect(arrived).toEqual([2, 4]);
  });

  it('that is frozen carries nothing, also of what was under way', async () => {
    const faults = { ...GOOD_LINE, latencyMs: 20 };
    const { arrived, send } = carried(faults);
    send(1);
    faults.frozen = true;
    send(2);
    await pause(40);
    expect(arrived).toEqual([]);
  });
});
