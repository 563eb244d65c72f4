import { pairingFailure } from './reasons.js';

test.each([
  [
    'codes that nobody read name the slots of the phone',
    'codes_unread',
    /quatro aparelhos conectados.*\(codes_unread\)\.$/,
  ],
  ['a passkey is named', 'passkey_required', /passkey.*\(passkey_required\)\.$/],
  ['a refusal is named', 'refused_by_the_network', /recusou o aparelho \(refused_by_the_network\)\.$/],
  ['a ban is said as it is', 'banned: 406', /sem um aparelho: banned: 406\.$/],
])('%s', (_, reason, words) => {
  expect(pairingFailure(reason)).toMatch(words);
});
