import { METRICS } from './metrics.js';

const all = Object.values(METRICS).flat();

test('has no duplicate name', () => {
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

test.each(all.map((metric) => [metric.name, metric] as const))(
  '%s follows the naming rules of Prometheus',
  (name, { type, help, labelNames }) => {
    expect(name).toMatch(/^gwk(_[a-z]+)+$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|percent)(_|$)/);
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    expect(help).toMatch(/\.$/);
    for (const label of labelNames) expect(label).toMatch(/^[a-z_]+$/);
  },
);
