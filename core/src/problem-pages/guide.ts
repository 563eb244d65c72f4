import type { ProblemCode } from '../problems.js';

/** Guidance for the page of each problem: when it occurs, and what the client should do. */
interface Guidance {
  when: string;
  then: string;
}

const RETRY = 'Retry after `Retry-After` seconds, with the same `Idempotency-Key`.';
const CORRECT = 'Correct the request. An unchanged retry fails again.';

export const GUIDE: Readonly<Record<ProblemCode, Guidance>> = {
  unauthorized: {
    when: 'The header `Authorization: Bearer` is missing, or its key is unknown or revoked.',
    then: 'Send a valid key. Keys start with `gwk_live_`.',
  },
  'insufficient-scope': {
    when: 'The key lacks the scope that the operation requires; `required_scope` names it.',
    then: 'Use a key with that scope.',
  },
  forbidden: {
    when: 'The caller may not do this. A key that is restricted to some instances cannot create instances, list or remove opt-outs, or register webhooks beyond its instances.',
    then: 'Use a key without that restriction.',
  },
  'account-suspended': {
    when: 'The account is suspended: it can read, but not send.',
    then: 'Contact support. Queued messages keep waiting, and expire.',
  },
  'validation-error': {
    when: 'The request is malformed: fields are missing, unknown or out of range (`errors` lists each with its path), the body is not JSON in UTF-8, a body or parameter contains NUL, or the bytes are not an HTTP request.',
    then: CORRECT,
  },
  'invalid-message': {
    when: 'The fields of a message do not fit together: type image without an `image` field, media with neither or both of `media_id` and `url`, interactive with neither or both of `buttons` and `list`, or a button without the field that its type requires.',
    then: CORRECT,
  },
  'invalid-phone': {
    when: 'A phone number does not have 8 to 15 digits with country and area code, or `to` is not a valid network id either.',
    then: CORRECT,
  },
  'invalid-reply-to': {
    when: '`reply_to` is not a message of this instance, or that message has not been sent.',
    then: 'Quote a message that was received or sent.',
  },
  'invalid-policy': {
    when: 'A policy value is out of range or has the wrong type: a time that is not `HH:MM`, a negative number, or `active_hours` with only some of `start`, `end` and `timezone`.',
    then: CORRECT,
  },
  'invalid-timezone': {
    when: 'A time zone is not an IANA name such as `America/Sao_Paulo`.',
    then: CORRECT,
  },
  'invalid-month': { when: '`month` is not `YYYY-MM`.', then: CORRECT },
  'invalid-webhook-url': {
    when: 'The webhook URL is not HTTPS, contains user information, or points to an address that is not public.',
    then: 'Use an HTTPS URL that is reachable from the internet.',
  },
  'invalid-cursor': {
    when: '`cursor` does not belong to this list and these filters, or is older than 1 day.',
    then: 'Start again without a cursor.',
  },
  'invalid-idempotency-key': {
    when: 'The header `Idempotency-Key` is empty or longer than 255 characters.',
    then: 'Send 1 to 255 characters, or omit the header.',
  },
  'idempotency-key-reused': {
    when: 'A request with this `Idempotency-Key` and a different body succeeded in the last 24 hours.',
    then: 'Use a new key for a new request.',
  },
  'idempotency-in-progress': {
    when: 'The first request with this `Idempotency-Key` is still in progress.',
    then: RETRY,
  },
  'precondition-failed': {
    when: '`If-Match` does not match the current version.',
    then: 'Read the resource again, repeat your change, and send the new `ETag`.',
  },
  'not-found': {
    when: 'The path or the resource does not exist in the account, or the key has no access to it.',
    then: 'Check the id, and which instances the key may use.',
  },
  'method-not-allowed': {
    when: 'The path exists, but does not support this method.',
    then: 'Use a method from the `Allow` header.',
  },
  'instance-limit-reached': {
    when: 'The plan allows no more instances. Sandbox instances do not count.',
    then: 'Remove an instance, or change the plan.',
  },
  'instance-name-taken': {
    when: 'Another instance of the account has this name.',
    then: 'Choose another name. Names of removed instances are free.',
  },
  'sandbox-limit-reached': {
    when: 'The account already has 3 sandbox instances.',
    then: 'Remove one of them.',
  },
  'not-sandbox': {
    when: 'The request simulates an inbound message, but the instance is not a sandbox.',
    then: 'Use a sandbox instance.',
  },
  'already-paired': {
    when: 'The request starts a pairing, but the instance is already paired, or banned.',
    then: 'Log the instance out first.',
  },
  'pairing-failed': {
    when: 'The network refused the pairing, the phone required a passkey, or nobody scanned six codes in a row; `detail` says which. A phone with four linked devices cannot scan a code.',
    then: 'Start the pairing again. If the phone has four linked devices, unlink one first.',
  },
  'engine-unavailable': {
    when: 'The engine of the instance did not answer in time: it is starting, moving or offline.',
    then: RETRY,
  },
  'contact-opted-out': {
    when: 'The contact sent an opt-out word, or was opted out through the API.',
    then: 'Do not write to this contact. The opt-out ends when the contact sends a resume word, or when you remove it with the contact’s consent.',
  },
  'policy-new-contacts-limit': {
    when: 'The instance has reached the limit of new contacts (who never wrote) of its policy for 24 hours. The limit is lower during warm-up, and 0 while the network restricts the phone number.',
    then: RETRY,
  },
  'policy-mass-send-blocked': {
    when: 'The same text went to as many new contacts as the policy allows in its time window. Changes of case, spaces and digits do not count as a different text.',
    then: 'Wait until the time window ends, or write individual texts.',
  },
  'policy-outside-hours': {
    when: 'The contact has not written in the last 24 hours, and the current time is outside the active hours of the instance.',
    then: 'Send within the active hours, or set `active_hours.outside` to `schedule`.',
  },
  'rate-limited': {
    when: 'The key, or the client address if there is no key, has used up its requests per minute. Contact checks have a separate limit.',
    then: RETRY,
  },
  'media-not-found': {
    when: '`media_id` is not a file of the account, or the file has expired (30 days).',
    then: 'Upload the file again.',
  },
  'media-expired': {
    when: 'The file has expired (30 days).',
    then: 'Upload the file again.',
  },
  'file-too-large': {
    when: 'The file is larger than 64 MB, the JSON body larger than 1 MB, or the headers larger than 16 kB.',
    then: CORRECT,
  },
  'empty-file': { when: 'The uploaded file is empty.', then: CORRECT },
  'message-not-sent': {
    when: 'The message has not been sent yet, or has failed, so it cannot be edited, deleted or reacted to.',
    then: 'Wait until it is `sent`.',
  },
  'not-editable': {
    when: 'The message is not a text message, or was not sent by this instance.',
    then: 'Send another message.',
  },
  'edit-window-closed': {
    when: 'More than 15 minutes have passed since the message was sent.',
    then: 'Send another message.',
  },
  'message-sending': {
    when: 'The request cancels a scheduled message that is already being sent.',
    then: 'Wait until it is `sent`, and delete it for everyone.',
  },
  'webhook-limit-reached': {
    when: 'The account already has 10 webhooks.',
    then: 'Remove one of them.',
  },
  'delivery-pending': {
    when: 'The request retries a delivery that is still in progress.',
    then: 'Wait until it is `succeeded` or `failed`.',
  },
  'internal-error': {
    when: 'The service failed.',
    then: `${RETRY} If it fails again, give support the \`request_id\`.`,
  },
};
