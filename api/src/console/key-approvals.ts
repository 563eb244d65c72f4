import { hash } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { audit } from '../accounts/audit-log.js';
import { newApiKey } from '../accounts/api-keys.js';
import { newToken } from '../accounts/sessions.js';
import { operation } from '../http/operation.js';
import { newSuspensionProblem } from '../http/suspension.js';
import {
  CreatedKey,
  KeyApprovalCreate,
  KeyApprovalOut,
  KeyApprovalRedeem,
} from '../resources/console/key.js';
import { insertKey, viewKey, WITH_INSTANCES } from './keys.js';

const PATH = '/console/api/key-approvals';
const REDEEM_MS = 5 * 60_000;
const DAY_MS = 86_400_000;
/** The code contains the lifetime of the key, and is hashed with it. */
const CODE = /^[A-Za-z0-9_-]{43}\.(\d{1,3})$/;

/**
 * An approved key is a row whose hash stands for code and challenge. No API key has such a hash, because all begin with
 * `gwk_live_`. The row expires by itself, and is listed, counted and revoked like other keys.
 */
export function hashApproval(code: string, challenge: string): Buffer {
  return hash('sha256', `exchange.${code}.${challenge}`, 'buffer');
}

const createKeyApproval = operation({
  name: 'createKeyApproval',
  method: 'POST',
  path: PATH,
  summary: 'Approve an API key for a program on the machine of the person',
  description:
    'The program, such as `gwk login`, has shown the challenge. The answer is a code, which the browser takes to the program on the same machine. The program redeems it with its verifier within 5 minutes. The key gets no scope and no instance that the person lacks, and counts among the 100 keys of the account.',
  scope: null,
  person: 'keys:write',
  status: 201,
  problems: ['invalid-scopes'],
  body: KeyApprovalCreate,
  result: KeyApprovalOut,
  async handle({ caller, body, note, services: { db } }) {
    const { challenge, expires_in_days: days } = body;
    const code = `${newToken()}.${days}`;
    const expiresAt = new Date(Date.now() + REDEEM_MS);
    const approved = { ...body, hash: hashApproval(code, challenge), expiresAt };
    const row = await insertKey(db, caller, { ...approved, detail: { expires_in_days: days } });
    note(toPublicId('apiKey', row.id));
    const answer = { code, expires_at: expiresAt.toISOString() };
    return { status: 201, body: answer, headers: ['Cache-Control', 'no-store'] };
  },
});

const redeemKeyApproval = operation({
  name: 'redeemKeyApproval',
  method: 'POST',
  path: `${PATH}/redeem`,
  summary: 'Get the approved API key',
  description:
    'Once, with the code of the approval and the verifier whose SHA-256 is its challenge. The key was nowhere before. Its lifetime begins now.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['invalid-code', 'account-suspended'],
  body: KeyApprovalRedeem,
  result: CreatedKey,
  async handle({ body: { code, verifier }, exchange, note, services: { db } }) {
    const days = Number(CODE.exec(code)?.[1]);
    const approval = new Uint8Array(hashApproval(code, hash('sha256', verifier)));
    const made = newApiKey();
    const row = await db.$transaction(async (tx) => {
      const now = Date.now();
      const live = { hash: approval, revokedAt: null, expiresAt: { gt: new Date(now) } };
      const found = await tx.apiKey.findFirst({ where: live, include: { account: true } });
      if (!found) throw new Problem('invalid-code');
      if (found.account.suspendedAt !== null) throw newSuspensionProblem();
      // Only one of two uses at once finds the hash of the approval.
      const { count } = await tx.apiKey.updateMany({
        where: live,
        data: { hash: new Uint8Array(made.hash), expiresAt: new Date(now + days * DAY_MS) },
      });
      if (count === 0) throw new Problem('invalid-code');
      const { id, accountId } = found;
      const detail = { address: exchange.ip ?? '' };
      await audit(tx, { actor: `key:${id}`, accountId, action: 'key.redeem', subject: id, detail });
      return tx.apiKey.findUniqueOrThrow({ where: { id }, ...WITH_INSTANCES });
    });
    note(toPublicId('apiKey', row.id));
    const body = { ...viewKey(row), api_key: made.key };
    return { status: 200, body, headers: ['Cache-Control', 'no-store'] };
  },
});

export const keyApprovalOperations = [createKeyApproval, redeemKeyApproval];
