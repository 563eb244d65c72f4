import { condition } from './condition.js';

describe('a condition', () => {
  it('is met up to its bound, in both directions', () => {
    expect(condition(1, { atLeast: 1 })).toBe('at least 1: met');
    expect(condition(0.999, { atLeast: 1 })).toBe('at least 1: NOT MET');
    expect(condition(1.2, { atMost: 1.2 })).toBe('at most 1.2: met');
    expect(condition(1.21, { atMost: 1.2 })).toBe('at most 1.2: NOT MET');
  });

  it('is not met by NaN', () => {
    expect(condition(NaN, { atLeast: 0 })).toBe('at least 0: NOT MET');
    expect(condition(NaN, { atMost: 1 })).toBe('at most 1: NOT MET');
  });
});
