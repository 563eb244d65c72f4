import { decidePairStep } from './pair.js';

test.each([
  ['qr', { code: '2@x', expires_in_s: 20 }, { do: 'show-qr', code: '2@x', seconds: 20 }],
  ['qr', { expires_in_s: 20 }, { do: 'give-up' }],
  ['code', { code: 'ABCD1234' }, { do: 'say', text: expect.stringContaining('ABCD-1234') }],
  ['passkey', {}, { do: 'say' }],
  ['paired', {}, { do: 'say' }],
  ['connected', {}, { do: 'finish' }],
  [
    'error',
    { title: 'Pairing failed', detail: 'timeout' },
    { do: 'give-up', reason: 'Pairing failed\ntimeout' },
  ],
  ['new', {}, { do: 'wait' }],
])('the pairing event %s with %j leads to %j', (event, data, step) => {
  expect(decidePairStep({ event, data })).toMatchObject(step);
});
