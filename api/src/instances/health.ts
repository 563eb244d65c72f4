import { computeHealthScore, type HealthFacts } from './health/score.js';
import { lowestUuidAt, toPublicId } from '@gwk/core/ids/ids';
import type { Language } from '@gwk/core/language';
import { WARM_UP_DAYS } from '../policy/policy.js';
import { HealthOut } from '../resources/health.js';
import type { Database } from '../database/database.js';
import type { Instance } from '../generated/prisma/client.js';
import { chooseLanguage, languageHeaders } from '../http/language.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { findInstance } from '../accounts/find-instance.js';
import { readPolicy, warmUpFrom } from './policy.js';

export const healthOperations = [
  operation({
    name: 'getHealth',
    method: 'GET',
    path: '/v1/instances/{instance_id}/health',
    summary: 'Health of a number: a score, what it is made of, and what to do',
    scope: 'instances:read',
    status: 200,
    result: HealthOut,
    async handle({ caller, exchange, params, services }) {
      const instance = await findInstance(services.db, caller, params['instance_id']!);
      const language = chooseLanguage(exchange);
      const body = await readHealth(services, instance, language);
      return { status: 200, body, headers: languageHeaders(language) };
    },
  }),
];

export async function readHealth(
  services: Services,
  instance: Instance,
  language: Language,
): Promise<HealthOut> {
  const facts = await gatherHealthFacts(services, instance);
  return {
    instance_id: toPublicId('instance', instance.id),
    computed_at: facts.now.toISOString(),
    ...computeHealthScore(facts, language),
  };
}

const DAY_MS = 86_400_000;
/** Only the latest messages count, so that the cost does not depend on the volume. */
const MOST_MESSAGES = 20_000;
/** Younger messages may still get a receipt. */
const DELIVERY_GRACE = '5 minutes';
const READ_GRACE = '1 hour';
const REPLY_GRACE = '1 day';
/** Failures that do not depend on the phone number: offline, canceled. */
const NEUTRAL_FAILURES = ['canceled', 'opted_out', 'not_connected', 'not_paired', 'expired'];
/** Disconnections on purpose: an engine stopped or moved, the API was unreachable, or a user requested it. */
const ORDERLY_ENDS = ['engine_stopped', 'engine_silent', 'lease_unconfirmed', 'restart'];

type Counted = Pick<HealthFacts, 'sent' | 'delivered' | 'readable' | 'read' | 'failed' | 'contacts'>;
type Contacted = Pick<HealthFacts, 'newContacts' | 'newContactsWhoReplied' | 'newContactsToday'>;
type Lately = Pick<HealthFacts, 'optOuts' | 'reconnections' | 'bans'>;

/** Reads the facts of the health score, counted over the last 7 days. */
async function gatherHealthFacts(services: Services, instance: Instance): Promise<HealthFacts> {
  const { db } = services;
  const now = new Date();
  const [messages, contacts, lately, policy] = await Promise.all([
    countMessages(db, instance, now),
    countContacts(db, instance.id),
    countLately(db, instance, now),
    readPolicy(services, instance, now),
  ]);
  const from = warmUpFrom(instance);
  return {
    now,
    warmUpEndsAt: from && new Date(from.getTime() + WARM_UP_DAYS * DAY_MS),
    banned: instance.state === 'banned',
    restrictedUntil: instance.restrictedUntil,
    ...messages,
    ...contacts,
    ...lately,
    newContactsLimit: policy.new_contacts_per_day,
  };
}

/** Days ago, or when the present WhatsApp account was linked: the former one has another number. */
const findStart = ({ otherAccountAt }: Instance, now: Date, days: number): number =>
  Math.max(now.getTime() - days * DAY_MS, otherAccountAt?.getTime() ?? 0);

async function countMessages(db: Database, instance: Instance, now: Date): Promise<Counted> {
  const { id: instanceId } = instance;
  const since = lowestUuidAt(findStart(instance, now, 7));
  const [row] = await db.$queryRaw<Counted[]>`
    WITH lately AS MATERIALIZED (
      SELECT status, error_code, sent_at, delivered_at, conversation_id FROM messages
      WHERE (instance_id, gwk_id_bucket_256ms(id)) >= (${instanceId}::uuid, gwk_id_bucket_256ms(${since}::uuid))
        AND instance_id <= ${instanceId}::uuid AND id >= ${since}::uuid AND direction = 'outbound'
      ORDER BY instance_id DESC, gwk_id_bucket_256ms(id) DESC, id DESC LIMIT ${MOST_MESSAGES})
    SELECT
      count(*) FILTER (WHERE status IN ('delivered', 'read')
        OR status = 'sent' AND sent_at < now() - ${DELIVERY_GRACE}::interval)::integer AS "sent",
      count(*) FILTER (WHERE status IN ('delivered', 'read'))::integer AS "delivered",
      count(*) FILTER (WHERE status = 'read'
        OR status = 'delivered' AND delivered_at < now() - ${READ_GRACE}::interval)::integer AS "readable",
      count(*) FILTER (WHERE status = 'read')::integer AS "read",
      count(*) FILTER (WHERE status = 'failed' AND error_code <> ALL (${NEUTRAL_FAILURES}))::integer AS "failed",
      count(DISTINCT l.conversation_id) FILTER (WHERE c.contact_id IS NOT NULL)::integer AS "contacts"
    FROM lately l JOIN conversations c ON c.id = l.conversation_id`;
  return row!;
}

async function countContacts(db: Database, instanceId: string): Promise<Contacted> {
  const [row] = await db.$queryRaw<Contacted[]>`
    SELECT
      count(*) FILTER (WHERE last_wrote_at > first_sent_at
        OR first_sent_at < now() - ${REPLY_GRACE}::interval)::integer AS "newContacts",
      count(*) FILTER (WHERE last_wrote_at > first_sent_at)::integer AS "newContactsWhoReplied",
      count(*) FILTER (WHERE first_sent_at > now() - interval '24 hours')::integer AS "newContactsToday"
    FROM conversations WHERE instance_id = ${instanceId}::uuid AND first_sent_at > now() - interval '7 days'`;
  return row!;
}

async function countLately(db: Database, instance: Instance, now: Date): Promise<Lately> {
  const { id, accountId } = instance;
  const since = lowestUuidAt(findStart(instance, now, 7));
  const [row] = await db.$queryRaw<Lately[]>`
    SELECT
      (SELECT count(*) FROM opt_outs WHERE account_id = ${accountId}::uuid AND id >= ${since}::uuid
        AND instance_id = ${id}::uuid AND source = 'keyword' AND NOT resumed)::integer AS "optOuts",
      count(*) FILTER (WHERE state = 'disconnected' AND since > now() - interval '24 hours'
        AND coalesce(reason, '') <> ALL (${ORDERLY_ENDS}))::integer AS "reconnections",
      count(*) FILTER (WHERE state = 'banned')::integer AS "bans"
    FROM instance_states WHERE instance_id = ${id}::uuid AND since > ${new Date(findStart(instance, now, 30))}::timestamptz`;
  return row!;
}
