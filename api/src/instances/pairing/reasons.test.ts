import { pairingFailure } from './reasons.js';

test.each([
  [
    'unread codes explain the limit of linked devices',
    'codes_unread',
    /quatro aparelhos conectados.*\(codes_unread\)\.$/,
  ],
  ['explains an interrupted passkey', 'passkey_interrupted', /passkey.*\(passkey_interrupted\)\.$/],
  ['names a required passkey', 'passkey_required', /passkey.*\(passkey_required\)\.$/],
  [
    'names a refusal by the network',
    'refused_by_the_network',
    /recusou o aparelho \(refused_by_the_network\)\.$/,
  ],
  [
    'names a refused client version',
    'version_rejected_405',
    /versão do cliente.*\(version_rejected_405\)\.$/,
  ],
  ['repeats the code of a ban', 'banned: 406', /sem um aparelho: banned: 406\.$/],
])('%s', (_, reason, words) => {
  expect(pairingFailure(reason).pt).toMatch(words);
});

test('explains a reason in English too', () => {
  expect(pairingFailure('codes_unread').en).toMatch(/four linked devices.*\(codes_unread\)\.$/);
  expect(pairingFailure('banned: 406').en).toBe('The pairing ended without a device: banned: 406.');
});
