import { planPartitions } from './partitions.js';

test('plans partitions from yesterday to a week ahead, and keeps them for the days of each table', () => {
  const plans = planPartitions(new Date('2026-03-01T00:30:00Z'), {
    messageDays: 90,
    eventDays: 60,
    deliveryDays: 1,
  });
  expect(plans.map(({ parent, keepFrom }) => [parent, keepFrom])).toEqual([
    ['messages', '2025-12-01'],
    ['events', '2025-12-31'],
    ['webhook_deliveries', '2026-02-28'],
  ]);
  for (const { days } of plans) {
    expect(days).toEqual([28, 1, 2, 3, 4, 5, 6, 7, 8].map((day) => `2026-${day === 28 ? '02' : '03'}-${String(day).padStart(2, '0')}`)); // prettier-ignore
  }
});
