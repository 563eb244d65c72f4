import { PROBLEMS } from '@gwk/core/problems/problems';
import type { Operation } from '../http/operation.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from '../public-api/operations.js';
import { listProblems } from '../openapi/describe.js';

/** Every endpoint of the HTTP interface, with its scope and its success status. */
const I = '/v1/instances/{instance_id}';
const M = '/v1/messages';
const W = '/v1/webhook-endpoints';
const E = `${W}/{endpoint_id}`;

const ENDPOINTS: [method: string, path: string, scope: string, status: number][] = [
  ['GET', '/v1/instances', 'instances:read', 200],
  ['POST', '/v1/instances', 'instances:write', 201],
  ['GET', I, 'instances:read', 200],
  ['PATCH', I, 'instances:write', 200],
  ['DELETE', I, 'instances:write', 204],
  ['GET', `${I}/policy`, 'instances:read', 200],
  ['POST', `${I}/pairing`, 'instances:write', 200],
  ['GET', `${I}/pairing`, 'instances:read or instances:write', 200],
  ['POST', `${I}/pairing/passkey`, 'instances:write', 200],
  ['POST', `${I}/pairing/passkey/confirm`, 'instances:write', 200],
  ['GET', `${I}/pairing/stream`, 'instances:read or instances:write', 200],
  ['POST', `${I}/sandbox/inbound`, 'messages:send', 200],
  ['GET', `${I}/health`, 'instances:read', 200],
  ['GET', `${I}/availability`, 'instances:read', 200],
  ['POST', `${I}/logout`, 'instances:write', 204],
  ['POST', `${I}/restart`, 'instances:write', 202],
  ['GET', `${I}/contacts/{phone}`, 'instances:read', 200],
  ['GET', `${I}/groups`, 'instances:read', 200],
  ['GET', `${I}/groups/{group}`, 'instances:read', 200],
  ['POST', `${I}/chats/{chat}/read`, 'messages:send', 204],
  ['POST', `${I}/chats/{chat}/presence`, 'messages:send', 204],
  ['POST', M, 'messages:send', 202],
  ['GET', M, 'messages:read', 200],
  ['GET', `${M}/{message_id}`, 'messages:read', 200],
  ['PATCH', `${M}/{message_id}`, 'messages:send', 200],
  ['DELETE', `${M}/{message_id}`, 'messages:send', 204],
  ['POST', `${M}/{message_id}/reactions`, 'messages:send', 204],
  ['POST', '/v1/media', 'media:write', 201],
  ['GET', '/v1/media/{media_id}', 'messages:read or media:write', 200],
  ['GET', W, 'webhooks:read', 200],
  ['POST', W, 'webhooks:write', 201],
  ['GET', E, 'webhooks:read', 200],
  ['PATCH', E, 'webhooks:write', 200],
  ['DELETE', E, 'webhooks:write', 204],
  ['POST', `${E}/rotate-secret`, 'webhooks:write', 200],
  ['POST', `${E}/test`, 'webhooks:write', 202],
  ['GET', `${E}/deliveries`, 'webhooks:read', 200],
  ['POST', `${E}/retry-failed`, 'webhooks:write', 200],
  ['POST', '/v1/webhook-deliveries/{delivery_id}/retry', 'webhooks:write', 202],
  ['GET', '/v1/conversations', 'messages:read', 200],
  ['GET', '/v1/conversations/{conversation_id}', 'messages:read', 200],
  ['GET', '/v1/contacts', 'messages:read', 200],
  ['GET', '/v1/events', 'events:read', 200],
  ['GET', '/v1/events/stream', 'events:read', 200],
  ['GET', '/v1/events/{event_id}', 'events:read', 200],
  ['GET', '/v1/opt-outs', 'messages:read', 200],
  ['POST', '/v1/opt-outs', 'messages:send', 201],
  ['DELETE', '/v1/opt-outs/{phone}', 'messages:send', 204],
  ['GET', '/v1/status/interactive', 'public', 200],
];

const S = '/console/api/session';
const P = '/console/api/profile';
const PLATFORM = '/console/api/platform';

/** Endpoints of the console, with the persons who may call them. */
const CONSOLE_ENDPOINTS: typeof ENDPOINTS = [
  ['GET', S, 'signed-in', 200],
  ['POST', S, 'anyone', 200],
  ['POST', `${S}/handoff`, 'anyone', 200],
  ['POST', `${S}/handoff/person`, 'anyone', 200],
  ['POST', `${S}/code`, 'anyone', 200],
  ['POST', '/console/api/handoffs', 'portal', 201],
  ['GET', `${S}/methods`, 'anyone', 200],
  ['POST', `${S}/provider`, 'anyone', 200],
  ['POST', `${S}/provider/answer`, 'anyone', 200],
  ['POST', `${S}/passkey/options`, 'anyone', 200],
  ['POST', `${S}/passkey`, 'anyone', 200],
  ['POST', `${S}/second-factor/options`, 'anyone', 200],
  ['POST', `${S}/second-factor`, 'anyone', 200],
  ['GET', `${P}/passkeys`, 'signed-in', 200],
  ['POST', `${P}/passkeys/options`, 'signed-in', 200],
  ['POST', `${P}/passkeys`, 'signed-in', 201],
  ['POST', `${P}/passkeys/{passkey_id}/remove`, 'signed-in', 204],
  ['POST', '/console/api/password-resets', 'anyone', 204],
  ['POST', '/console/api/password-resets/redeem', 'anyone', 204],
  ['POST', `${P}/totp`, 'signed-in', 200],
  ['POST', `${P}/totp/confirm`, 'signed-in', 200],
  ['POST', `${P}/totp/remove`, 'signed-in', 204],
  ['DELETE', S, 'signed-in', 204],
  ['GET', '/console/api/account', 'account:read', 200],
  ['PATCH', '/console/api/account', 'account:write', 200],
  ['GET', '/console/api/overview', 'overview:read', 200],
  ['GET', '/console/api/instances', 'overview:read', 200],
  ['GET', '/console/api/people', 'messages:read', 200],
  ['GET', '/console/api/account/policy', 'account:read', 200],
  ['PATCH', '/console/api/account/policy', 'account:write', 200],
  ['GET', '/console/api/audit-log', 'audit:read', 200],
  ['GET', '/console/api/audit-log.csv', 'audit:read', 200],
  ['GET', '/console/api/alert-contacts', 'alerts:write', 200],
  ['POST', '/console/api/alert-contacts', 'alerts:write', 201],
  ['POST', '/console/api/alert-contacts/{contact_id}/code', 'alerts:write', 204],
  ['POST', '/console/api/alert-contacts/{contact_id}/verify', 'alerts:write', 200],
  ['DELETE', '/console/api/alert-contacts/{contact_id}', 'alerts:write', 204],
  ['GET', '/console/api/webhook-endpoints', 'webhooks:read', 200],
  ['GET', '/console/api/messages/{message_id}/deliveries', 'webhooks:read', 200],
  ['GET', '/console/api/webhook-deliveries/{delivery_id}', 'webhooks:read', 200],
  ['GET', '/console/api/members', 'members:read', 200],
  ['PATCH', '/console/api/members/{user_id}', 'members:write', 200],
  ['DELETE', '/console/api/members/{user_id}', 'members:write', 204],
  ['GET', '/console/api/invitations', 'members:read', 200],
  ['POST', '/console/api/invitations', 'members:write', 201],
  ['DELETE', '/console/api/invitations/{invitation_id}', 'members:write', 204],
  ['POST', '/console/api/invitations/accept', 'anyone', 200],
  ['GET', '/console/api/keys', 'keys:write', 200],
  ['POST', '/console/api/keys', 'keys:write', 201],
  ['DELETE', '/console/api/keys/{key_id}', 'keys:write', 204],
  ['POST', '/console/api/key-approvals', 'keys:write', 201],
  ['POST', '/console/api/key-approvals/redeem', 'anyone', 200],
  ['GET', `${S}/accounts`, 'signed-in', 200],
  ['GET', `${PLATFORM}/accounts`, 'platform-admin', 200],
  ['POST', `${PLATFORM}/accounts`, 'platform-admin', 201],
  ['GET', `${PLATFORM}/accounts/{account_id}`, 'platform-admin', 200],
  ['PATCH', `${PLATFORM}/accounts/{account_id}`, 'platform-admin', 200],
  ['GET', `${PLATFORM}/overview`, 'platform-admin', 200],
  ['GET', `${PLATFORM}/instances`, 'platform-admin', 200],
  ['GET', `${PLATFORM}/network-version`, 'platform-admin', 200],
  ['PATCH', `${PLATFORM}/network-version`, 'platform-admin', 200],
  ['GET', `${PLATFORM}/device-checks`, 'platform-admin', 200],
  ['POST', `${PLATFORM}/device-checks`, 'platform-admin', 200],
  ['PATCH', P, 'signed-in', 200],
  ['POST', `${P}/password`, 'signed-in', 204],
  ['GET', `${P}/sessions`, 'signed-in', 200],
  ['DELETE', `${P}/sessions/{session_id}`, 'signed-in', 204],
];

const sort = (list: unknown[][]) => list.map((row) => row.join(' ')).sort();

test('the operations table has exactly these endpoints', () => {
  const rows = OPERATIONS.map(({ method, path, scope, orScope, status }) => [
    method,
    path,
    scope === null ? 'public' : [scope, orScope].filter((one) => one !== undefined).join(' or '),
    status,
  ]);
  expect(sort(rows)).toEqual(sort(ENDPOINTS));
});

test('the operations table of the console has exactly these endpoints', () => {
  const rows = CONSOLE_OPERATIONS.map(({ method, path, person, status }) => [method, path, person, status]);
  expect(sort(rows)).toEqual(sort(CONSOLE_ENDPOINTS));
});

test('every operation of the console names its persons, and no other operation does', () => {
  const isNamed = ({ person }: Operation) => person !== undefined;
  expect([CONSOLE_OPERATIONS.every(isNamed), OPERATIONS.some(isNamed)]).toEqual([true, false]);
});

test('every problem but method-not-allowed is documented for an operation', () => {
  const answered = new Set(
    [...OPERATIONS, ...CONSOLE_OPERATIONS].flatMap((operation) =>
      [...listProblems(operation).values()].flat(),
    ),
  );
  const missing = Object.keys(PROBLEMS).filter((code) => !answered.has(code as keyof typeof PROBLEMS));
  expect(missing).toEqual(['method-not-allowed']);
});
