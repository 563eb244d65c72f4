import { decideNotice } from './security-mails.js';

const by = { actor: 'user:1', subject: '2', accountId: '3', detail: {} };

test.each([
  ['user.totp-set', { ...by, accountId: null }, { kind: 'factor', userId: '2', accountId: null }],
  ['user.passkey-add', { ...by, accountId: null }, { kind: 'passkey', userId: '2', accountId: null }],
  ['user.password', { ...by, accountId: null }, { kind: 'password', userId: '2', accountId: null }],
  [
    'user.sign-in-locked',
    { ...by, actor: 'anyone', accountId: null },
    { kind: 'locked', userId: '2', accountId: null },
  ],
  ['address.sign-in-locked', { ...by, actor: 'anyone' }, null],
  ['user.sign-in-failed', { ...by, actor: 'anyone' }, null],
  ['key.create', by, { kind: 'key', userId: '1', accountId: '3' }],
  ['key.create', { ...by, actor: 'cli:somebody' }, null],
  ['member.join', { ...by, detail: { role: 'owner' } }, { kind: 'owner', userId: null, accountId: '3' }],
  ['member.join', { ...by, detail: { role: 'admin' } }, null],
  ['member.update', { ...by, detail: { role: 'owner' } }, { kind: 'owner', userId: null, accountId: '3' }],
  ['member.update', { ...by, detail: { instance_ids: [] } }, null],
  ['invitation.create', { ...by, detail: { role: 'owner' } }, null],
  ['user.totp-remove', by, null],
])('%s of %j: %j', (action, entry, wanted) => {
  expect(decideNotice({ action, ...entry })).toEqual(wanted);
});
