import { METRICS } from './page.js';

const all = Object.values(METRICS).flat();

test('no name stands twice', () => {
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

test.each(all.map((metric) => [metric.name, metric] as const))(
  '%s is named as Prometheus names metrics, in base units',
  (name, { type, help, labelNames }) => {
    expect(name).toMatch(/^gwk(_[a-z]+)+$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|percent)(_|$)/);
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    expect(help).toMatch(/\.$/);
    for (const label of labelNames) expect(label).toMatch(/^[a-z_]+$/);
  },
);
