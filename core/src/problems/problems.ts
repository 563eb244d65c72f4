import type { z } from 'zod';
import { CONSOLE_PROBLEMS } from './console-problems.js';
import type { Language, LocalText } from '../language.js';
import { PROBLEM_DETAILS } from './problem-details.js';
import type { ProblemOut } from '../resources/problem.js';

/**
 * The table of problems: the source of responses, documentation and tests. `title` is stable and in English. `when` (it
 * occurs) and `then` (what the client should do) are for the page of the problem. `PROBLEM_DETAILS` has the texts for
 * people.
 */
interface ProblemDefinition {
  status: number;
  title: string;
  when: string;
  then: string;
}

const RETRY = 'Retry after `Retry-After` seconds, with the same `Idempotency-Key`.';
const CORRECT = 'Correct the request. An unchanged retry fails again.';

export const PROBLEMS = {
  unauthorized: {
    status: 401,
    title: 'Missing, invalid or revoked API key',
    when: 'The header `Authorization: Bearer` is missing, or its key is unknown or revoked.',
    then: 'Send a valid key. Keys start with `gwk_live_`.',
  },
  'insufficient-scope': {
    status: 403,
    title: 'API key lacks the required scope',
    when: 'The key lacks the scope that the operation requires; `required_scope` names it.',
    then: 'Use a key with that scope.',
  },
  forbidden: {
    status: 403,
    title: 'Action not allowed',
    when: 'The caller may not do this. A role of the console does not include the operation. A key that is restricted to some instances cannot create instances, list or remove opt-outs, or register webhooks beyond its instances.',
    then: 'Use a key without that restriction, or ask an owner of the account for another role.',
  },
  'account-suspended': {
    status: 403,
    title: 'Account suspended',
    when: 'The account is suspended: it can read, reduce and delete, but neither send nor add anything (keys, numbers, pairings, endpoints, repeated deliveries, invitations, members, alert contacts, uploads).',
    then: 'Contact support. Queued messages keep waiting, and expire.',
  },
  'validation-error': {
    status: 422,
    title: 'Invalid request',
    when: 'The request is malformed: fields are missing, unknown or out of range (`errors` lists each with its path), the body is not JSON in UTF-8, a body or parameter contains NUL, or the bytes are not an HTTP request.',
    then: CORRECT,
  },
  'invalid-message': {
    status: 422,
    title: 'Message badly built',
    when: 'The fields of a message do not fit together: type image without an `image` field, media with neither or both of `media_id` and `url`, interactive with neither or both of `buttons` and `list`, or a button without the field that its type requires.',
    then: CORRECT,
  },
  'invalid-phone': {
    status: 422,
    title: 'Invalid phone number',
    when: 'The value is neither a phone number (8 to 15 digits, with country and area code) nor, where accepted, a network id.',
    then: CORRECT,
  },
  'invalid-reply-to': {
    status: 422,
    title: 'Quoted message cannot be quoted',
    when: '`reply_to` is not a message of this instance and conversation, or that message has not been sent. A message of a group may also be quoted to its author in private.',
    then: 'Quote a message that was received from this chat or sent to it.',
  },
  'message-of-former-account': {
    status: 422,
    title: 'Message of a former account',
    when: 'The message was sent or received before another account was linked to the instance. The network does not know it under the new account.',
    then: 'Do not retry. Send another message.',
  },
  'invalid-policy': {
    status: 422,
    title: 'Invalid policy value',
    when: 'A policy value is out of range or has the wrong type: a time that is not `HH:MM`, a negative number, or `active_hours` with only some of `start`, `end` and `timezone`.',
    then: CORRECT,
  },
  'invalid-timezone': {
    status: 422,
    title: 'Unknown time zone',
    when: 'A time zone is not an IANA name such as `America/Sao_Paulo`.',
    then: CORRECT,
  },
  'invalid-month': {
    status: 422,
    title: 'Invalid month',
    when: '`month` is not `YYYY-MM`.',
    then: CORRECT,
  },
  'invalid-webhook-url': {
    status: 422,
    title: 'Invalid webhook URL',
    when: 'The webhook URL is not HTTPS, contains user information, or points to an address that is not public.',
    then: 'Use an HTTPS URL that is reachable from the internet.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'Invalid or expired cursor',
    when: '`cursor` does not belong to this list and these filters, or is older than 1 day.',
    then: 'Start again without a cursor.',
  },
  'invalid-idempotency-key': {
    status: 400,
    title: 'Invalid Idempotency-Key',
    when: 'The header `Idempotency-Key` is empty or longer than 255 characters.',
    then: 'Send 1 to 255 characters, or omit the header.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency-Key reused with another body',
    when: 'A request with this `Idempotency-Key` and a different body succeeded in the last 24 hours.',
    then: 'Use a new key for a new request.',
  },
  'idempotency-in-progress': {
    status: 409,
    title: 'Request with this Idempotency-Key in progress',
    when: 'The first request with this `Idempotency-Key` is still in progress.',
    then: RETRY,
  },
  'precondition-failed': {
    status: 412,
    title: 'Resource changed',
    when: '`If-Match` does not match the current version.',
    then: 'Read the resource again, repeat your change, and send the new `ETag`.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    when: 'The path or the resource does not exist in the account, or the key has no access to it.',
    then: 'Check the id, and which instances the key may use.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    when: 'The path exists, but does not support this method.',
    then: 'Use a method from the `Allow` header.',
  },
  'instance-limit-reached': {
    status: 409,
    title: 'Instance limit reached',
    when: 'The plan allows no more instances. Sandbox instances do not count.',
    then: 'Remove an instance, or change the plan.',
  },
  'instance-name-taken': {
    status: 409,
    title: 'Instance name taken',
    when: 'Another instance of the account has this name.',
    then: 'Choose another name. Names of removed instances are free.',
  },
  'sandbox-limit-reached': {
    status: 409,
    title: 'Sandbox limit reached',
    when: 'The account already has 3 sandbox instances.',
    then: 'Remove one of them.',
  },
  'not-sandbox': {
    status: 409,
    title: 'Not a sandbox instance',
    when: 'The request simulates an inbound message, but the instance is not a sandbox.',
    then: 'Use a sandbox instance.',
  },
  'already-paired': {
    status: 409,
    title: 'Instance already paired',
    when: 'The request starts a pairing, but the instance is already paired, or banned.',
    then: 'Log the instance out first.',
  },
  'passkey-not-awaited': {
    status: 409,
    title: 'No passkey awaited',
    when: 'The pairing does not wait for this: no passkey was asked for, it was answered already, the codes are not known yet, or the request has expired. Also if passkeys are off.',
    then: 'Read the pairing. `passkey` shows what it waits for.',
  },
  'pairing-failed': {
    status: 502,
    title: 'Pairing refused',
    when: 'The network refused the pairing, the phone required a passkey, or nobody scanned six codes in a row; `detail` says which. A phone with four linked devices cannot scan a code.',
    then: 'Start the pairing again. If the phone has four linked devices, unlink one first.',
  },
  'engine-unavailable': {
    status: 503,
    title: 'Connection engine unavailable',
    when: 'The engine of the instance did not answer in time: it is starting, moving or offline.',
    then: RETRY,
  },
  'contact-opted-out': {
    status: 422,
    title: 'Contact opted out',
    when: 'The contact sent an opt-out word, or was opted out through the API.',
    then: 'Do not write to this contact. The opt-out ends when the contact sends a resume word, or when you remove it with the contact’s consent.',
  },
  'policy-new-contacts-limit': {
    status: 429,
    title: 'New contacts limit reached',
    when: 'The instance has reached the limit of new contacts (who never wrote) of its policy for 24 hours. The limit is lower during warm-up, and 0 while the network restricts the phone number.',
    then: RETRY,
  },
  'policy-mass-send-blocked': {
    status: 422,
    title: 'Mass send blocked',
    when: 'The same text went to as many new contacts as the policy allows in its time window. Changes of case, spaces and digits do not count as a different text.',
    then: 'Wait until the time window ends, or write individual texts.',
  },
  'policy-outside-hours': {
    status: 422,
    title: 'Outside active hours',
    when: 'The contact has not written in the last 24 hours, and the current time is outside the active hours of the instance.',
    then: 'Send within the active hours, or set `active_hours.outside` to `schedule`.',
  },
  'rate-limited': {
    status: 429,
    title: 'Rate limit exceeded',
    when: 'The key, or the client address if there is no key, has used up its requests per minute. Contact checks have a separate limit.',
    then: RETRY,
  },
  'media-not-found': {
    status: 422,
    title: 'Media not found',
    when: '`media_id` is not a file of the account, or the file has expired (30 days).',
    then: 'Upload the file again.',
  },
  'media-expired': {
    status: 410,
    title: 'Media expired',
    when: 'The file has expired (30 days).',
    then: 'Upload the file again.',
  },
  'file-too-large': {
    status: 413,
    title: 'Content too large',
    when: 'The file is larger than the gateway permits (100 MB by default), the JSON body larger than 1 MB, or the headers larger than 16 kB.',
    then: CORRECT,
  },
  'empty-file': {
    status: 422,
    title: 'Empty file',
    when: 'The uploaded file is empty.',
    then: CORRECT,
  },
  'storage-limit-reached': {
    status: 409,
    title: 'Storage limit reached',
    when: 'The account stores as many bytes, files or bytes of events as its plan allows. Files count for 30 days, events for 90.',
    then: 'Wait until files expire, or change the plan. A retry fails until then.',
  },
  'too-many-transfers': {
    status: 429,
    title: 'Too many transfers',
    when: 'The account has too many uploads in progress, or the account, the file or the client address has too many downloads in progress.',
    then: RETRY,
  },
  'server-busy': {
    status: 503,
    title: 'Server busy',
    when: 'The API process has too many uploads or downloads in progress.',
    then: RETRY,
  },
  'message-not-sent': {
    status: 409,
    title: 'Message has not left',
    when: 'The message has not been sent yet, or has failed, so it cannot be edited, deleted or reacted to.',
    then: 'Wait until it is `sent`.',
  },
  'not-editable': {
    status: 409,
    title: 'Message not editable',
    when: 'The message is not a text message, or was not sent by this instance. Admins of a group may delete messages of others for 60 hours.',
    then: 'Send another message.',
  },
  'edit-window-closed': {
    status: 409,
    title: 'Edit window closed',
    when: 'More than 15 minutes have passed since the message was sent.',
    then: 'Send another message.',
  },
  'message-sending': {
    status: 409,
    title: 'Message is leaving',
    when: 'The request cancels a scheduled message that is already being sent.',
    then: 'Wait until it is `sent`, and delete it for everyone.',
  },
  'webhook-limit-reached': {
    status: 409,
    title: 'Webhook limit reached',
    when: 'The account already has 10 webhooks.',
    then: 'Remove one of them.',
  },
  'delivery-pending': {
    status: 409,
    title: 'Delivery in progress',
    when: 'The request retries a delivery that is still in progress.',
    then: 'Wait until it is `succeeded` or `failed`.',
  },
  'internal-error': {
    status: 500,
    title: 'Unexpected error',
    when: 'The service failed.',
    then: `${RETRY} If it fails again, give support the \`request_id\`.`,
  },
  ...CONSOLE_PROBLEMS,
} satisfies Record<string, ProblemDefinition>;

export type ProblemCode = keyof typeof PROBLEMS;
export type ConsoleProblemCode = keyof typeof CONSOLE_PROBLEMS;

export type ProblemBody = z.infer<typeof ProblemOut>;
export type FieldError = NonNullable<ProblemBody['errors']>[number];

interface ProblemExtras extends Partial<Pick<ProblemBody, 'errors' | 'required_scope' | 'factors'>> {
  /** Replaces the default text. */
  detail?: LocalText;
  /** Seconds, sent in the header `Retry-After`, not in the body. */
  retryAfter?: number;
  /** Sent in the header `Allow`, not in the body. */
  allow?: string;
  /** Sent in the header `Set-Cookie`, not in the body. */
  setCookie?: string;
}

/** An error that the API answers as `application/problem+json`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(`${code}: ${extras.detail?.en ?? PROBLEMS[code].title}`);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

export const readDetail = (code: ProblemCode): LocalText => PROBLEM_DETAILS[code];

/** @returns the RFC 9457 body of a problem; `path` is the request path without the query */
export function buildProblemBody(
  problem: Problem,
  where: { docsUrl: string; path: string; requestId: string; language: Language },
): ProblemBody {
  const { status, title } = PROBLEMS[problem.code];
  const { errors, required_scope, factors } = problem.extras;
  return {
    type: `${where.docsUrl}/problems/${problem.code}`,
    title,
    status,
    detail: (problem.extras.detail ?? readDetail(problem.code))[where.language],
    instance: where.path,
    request_id: where.requestId,
    ...(errors && { errors }),
    ...(required_scope && { required_scope }),
    ...(factors && { factors }),
  };
}
