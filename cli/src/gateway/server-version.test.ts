import { describeVersions } from './server-version.js';

test('warns of another minor version', () => {
  expect([describeVersions('0.1.9', '0.1.0'), describeVersions('0.2.0', '0.1.0')]).toEqual([
    null,
    expect.stringContaining('0.2.0'),
  ]);
});
