import { PolicyResolver } from './policies.js';

const at = new Date(0).toISOString();
const factsOf = (accountPolicy: string, instancePolicy: string) =>
  ({ accountPolicy, instancePolicy, warmUpFrom: null, at }) as unknown as Parameters<
    PolicyResolver['resolve']
  >[0];

test('keeps at most 2,000 resolved policies, whatever accounts and instances they are of', () => {
  const resolver = new PolicyResolver({});
  const first = factsOf('{}', '{}');
  const resolved = resolver.resolve(first);
  expect(resolver.resolve(first)).toBe(resolved);
  for (let hours = 1; hours <= 10; hours++) {
    for (let minute = 1; minute <= 200; minute++)
      resolver.resolve(factsOf(`{"menu_ttl_hours":${hours}}`, `{"messages_per_minute":${minute}}`));
  }
  expect(resolver.resolve(first)).not.toBe(resolved);
});
