import { createHash } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids/ids';
import { resolvePolicy, type PolicyOverrides } from '../../policy/policy.js';
import { Problem } from '@gwk/core/problems/problems';
import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { CallNotice, Notice } from '@gwk/core/protocol/notices';
import { parseRecipient } from '@gwk/core/ids/recipients';
import { findName } from '../../contacts/contacts.js';
import type { InternalDeps } from '../../engines/dependencies.js';
import { fence } from '../../fencing/fence.js';
import { messageMetrics } from '../../platform/metrics/messages.js';
import { nameNotice } from './events.js';

interface Report {
  instanceId: string;
  /** Null: of the API itself, for a sandbox. */
  lease: LeaseIdentity | null;
  notices: readonly Notice[];
}

type Sender = Parameters<InternalDeps['acceptor']['accept']>[1];
export type AnswerDeps = Pick<InternalDeps, 'database' | 'sealer' | 'environmentPolicy' | 'acceptor' | 'log'>;

/** A caller gets the text once in this time. Otherwise strangers could use up the pace and the limits of the instance. */
const TEXT_INTERVAL_MS = 3_600_000;

/**
 * Sends the text of `reject_calls` to callers whose call the engine has rejected, as an ordinary message with all its
 * rules. Groups get none.
 */
export async function answerCalls(deps: AnswerDeps, { instanceId, lease, notices }: Report): Promise<void> {
  const calls = notices.filter((notice) => notice.kind === 'call' && notice.rejected && !notice.group);
  if (calls.length === 0) return;
  if (lease) await fence(deps.database, instanceId, lease);
  const unseen = await findUnseen(deps, instanceId, calls as CallNotice[]);
  if (unseen.length === 0) return;
  const { enabled, text, sender } = await readRule(deps, instanceId);
  if (!enabled || text === null) return;
  for (const call of unseen) {
    const refusal = (await hasOptedOut(deps, { instanceId, sender }, call))
      ? 'contact-opted-out'
      : await sendText(deps, { instanceId, sender, text }, call);
    if (refusal === null) continue;
    messageMetrics.ignored('call_text');
    deps.log.info({ instance: instanceId, refusal }, 'text for a rejected call not sent');
  }
}

async function findUnseen(
  { database }: AnswerDeps,
  instanceId: string,
  calls: readonly CallNotice[],
): Promise<CallNotice[]> {
  const where = { instanceId, name: { in: calls.map(nameNotice) } };
  const seen = new Set((await database.noticeSeen.findMany({ where })).map(({ name }) => name));
  return calls.filter((call) => !seen.has(nameNotice(call)));
}

/** Reads the policy `reject_calls` of an instance. */
export async function readRule(
  { database, environmentPolicy }: Pick<AnswerDeps, 'database' | 'environmentPolicy'>,
  instanceId: string,
): Promise<{ enabled: boolean; text: string | null; sender: Sender }> {
  const { accountId, policy, account } = await database.instance.findUniqueOrThrow({
    where: { id: instanceId },
    select: { accountId: true, policy: true, account: { select: { policy: true, suspendedAt: true } } },
  });
  const levels = {
    environment: environmentPolicy,
    account: account.policy as PolicyOverrides,
    instance: policy as PolicyOverrides,
  };
  const { reject_calls } = resolvePolicy(levels, { warmingUp: false });
  const sender = { accountId, instances: null, suspended: account.suspendedAt !== null };
  return { ...reject_calls, sender };
}

/**
 * Whether the caller has opted out under the other id. The ids are not linked: the network vouches for those of messages
 * only, and a wrong link would send messages to another person.
 */
async function hasOptedOut(
  { database }: AnswerDeps,
  { instanceId, sender: { accountId } }: { instanceId: string; sender: Sender },
  { from }: CallNotice,
): Promise<boolean> {
  const other = parseRecipient(from.alt ?? '');
  if (!other) return false;
  const [row] = await database.$queryRaw<{ opted_out: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM contact_names n
      WHERE n.account_id = ${accountId}::uuid AND n.name = ${findName(accountId, other)}
        AND gwk_opted_out(n.contact_id, ${instanceId}::uuid)
    ) AS opted_out`;
  return row!.opted_out;
}

/**
 * @returns why the message was refused; null: it was accepted
 * @throws errors that may pass: the engine reports the call again
 */
async function sendText(
  { acceptor }: AnswerDeps,
  { instanceId, sender, text }: { instanceId: string; sender: Sender; text: string },
  call: CallNotice,
): Promise<string | null> {
  const body = {
    instance_id: toPublicId('instance', instanceId),
    to: call.from.id,
    type: 'text',
    text: { body: text },
  };
  const digest = createHash('sha256')
    .update(`${instanceId} ${call.from.id} ${Math.floor(Date.parse(call.at) / TEXT_INTERVAL_MS)}`)
    .digest('hex');
  try {
    await acceptor.accept({ body, idempotencyKey: `gwk-call-${digest}` }, sender);
    return null;
  } catch (error) {
    if (!(error instanceof Problem) || error.code === 'internal-error') throw error;
    // The caller has the text of an earlier call or report, from before it changed.
    return error.code === 'idempotency-key-reused' ? null : error.code;
  }
}
