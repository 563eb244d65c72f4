import type { ProblemCode } from '../problems.js';

/** What the pages say of each problem beside its row in the table of problems: when it comes, and what to do. */
interface Guidance {
  when: string;
  then: string;
}

const LATER = 'Repeat after `Retry-After` seconds, with the same `Idempotency-Key`.';
const CORRECT = 'Correct the request; repeating it as it is changes nothing.';

export const GUIDE: Readonly<Record<ProblemCode, Guidance>> = {
  unauthorized: {
    when: 'The `Authorization: Bearer` header is missing, or its key is unknown or revoked.',
    then: 'Send a key that is in force. Keys begin with `gwk_live_`.',
  },
  'insufficient-scope': {
    when: 'The key lacks the scope that the operation needs; `required_scope` names it.',
    then: 'Use a key with that scope.',
  },
  forbidden: {
    when: 'The action is not for this caller: a key that is restricted to some instances does not create instances, nor list or remove opt-outs, nor register destinations beyond its instances.',
    then: 'Use a key without that restriction.',
  },
  'account-suspended': {
    when: 'The account is suspended: it can read, and sends nothing.',
    then: 'Contact support. Messages that were waiting go on waiting, and expire.',
  },
  'validation-error': {
    when: 'The request has not the shape that the operation needs: fields that are missing, unknown or beyond their limits, listed in `errors` with the path of each; a body that is no JSON in UTF-8; NUL in a body or in a parameter; bytes that are no HTTP request.',
    then: CORRECT,
  },
  'invalid-message': {
    when: 'The fields of a message do not fit together: type image without an `image` field, media with neither or both of `media_id` and `url`, interactive with neither or both of `buttons` and `list`, a button without what its type needs.',
    then: CORRECT,
  },
  'invalid-phone': {
    when: 'A phone is not 8 to 15 digits with country and area code, or `to` is no network id either.',
    then: CORRECT,
  },
  'invalid-reply-to': {
    when: '`reply_to` names no message of this instance, or one that has not left.',
    then: 'Quote a message that was received or has been sent.',
  },
  'invalid-policy': {
    when: 'A policy value is out of its bounds or of another type: a time that is not `HH:MM`, a negative number, `active_hours` with some but not all of `start`, `end` and `timezone`.',
    then: CORRECT,
  },
  'invalid-timezone': {
    when: 'A time zone is not an IANA name, such as `America/Sao_Paulo`.',
    then: CORRECT,
  },
  'invalid-month': { when: '`month` is not `YYYY-MM`.', then: CORRECT },
  'invalid-webhook-url': {
    when: 'The URL of a destination is not HTTPS, has user information, or names an address that is not public.',
    then: 'Use an HTTPS URL that the internet can reach.',
  },
  'invalid-cursor': {
    when: '`cursor` was not issued for this list and these filters, or is older than a day.',
    then: 'Start again without a cursor.',
  },
  'invalid-idempotency-key': {
    when: 'The `Idempotency-Key` header is empty or longer than 255 characters.',
    then: 'Send 1 to 255 characters, or no such header.',
  },
  'idempotency-key-reused': {
    when: 'Another request with this `Idempotency-Key` and another body succeeded in the last 24 hours.',
    then: 'Use a new key for a new request.',
  },
  'idempotency-in-progress': {
    when: 'The first request with this `Idempotency-Key` is still being worked on.',
    then: LATER,
  },
  'precondition-failed': {
    when: '`If-Match` names another version than the one in force.',
    then: 'Read the resource again, decide again, and send its new `ETag`.',
  },
  'not-found': {
    when: 'The path or the resource does not exist in the account, or the key is restricted from it.',
    then: 'Check the id, and which instances the key may use.',
  },
  'method-not-allowed': {
    when: 'The path exists, and does not know this method.',
    then: 'Use one of those in the `Allow` header.',
  },
  'instance-limit-reached': {
    when: 'The plan allows no more instances. Sandbox instances do not count.',
    then: 'Remove an instance, or change the plan.',
  },
  'instance-name-taken': {
    when: 'Another instance of the account has this name.',
    then: 'Choose another name. That of a removed instance is free.',
  },
  'sandbox-limit-reached': {
    when: 'The account has 3 sandbox instances already.',
    then: 'Remove one of them.',
  },
  'not-sandbox': {
    when: 'Receiving was to be simulated on an instance that is no sandbox.',
    then: 'Use a sandbox instance.',
  },
  'already-paired': {
    when: 'Pairing was asked for on an instance that is paired, or banned.',
    then: 'Log the instance out first.',
  },
  'pairing-failed': {
    when: 'The network refused the pairing, the phone wanted a passkey, or six codes went by unread (a phone whose four slots for linked devices are taken reads none); `detail` says which.',
    then: 'Start pairing again, after unlinking a device on the phone where all slots are taken.',
  },
  'engine-unavailable': {
    when: 'The engine of the instance did not answer in time: it is starting, moving, or out.',
    then: LATER,
  },
  'contact-opted-out': {
    when: 'The contact sent an opt-out word, or was opted out through the API.',
    then: 'Do not write to this contact. A resume word, or the removal of the opt-out with the contact’s consent, ends it.',
  },
  'policy-new-contacts-limit': {
    when: 'The instance has written to as many new contacts (who never wrote) as its policy allows in 24 hours; a number that is warming up is allowed fewer, and one that the network restricts none.',
    then: LATER,
  },
  'policy-mass-send-blocked': {
    when: 'The same text went to as many new contacts as the policy allows in its window. Case, spaces and digits do not make a text another one.',
    then: 'Wait for the window to pass, or write what is meant for each contact.',
  },
  'policy-outside-hours': {
    when: 'The contact has not written in the last 24 hours, and the time is outside the active hours of the instance.',
    then: 'Send within the window, or set `active_hours.outside` to `schedule`.',
  },
  'rate-limited': {
    when: 'The requests a minute of the key are used up (of the address, where there is no key). Contact checks have a limit of their own.',
    then: LATER,
  },
  'media-not-found': {
    when: '`media_id` names no file of the account, or one that has expired (30 days).',
    then: 'Upload the file again.',
  },
  'media-expired': {
    when: 'The file has expired (30 days).',
    then: 'Upload the file again.',
  },
  'file-too-large': {
    when: 'A file over 64 MB, a JSON body over 1 MB, or headers over 16 kB.',
    then: CORRECT,
  },
  'empty-file': { when: 'The file that was uploaded has no bytes.', then: CORRECT },
  'message-not-sent': {
    when: 'The message has not left, or has failed: there is nothing to edit, to delete or to react to.',
    then: 'Wait until it is `sent`.',
  },
  'not-editable': {
    when: 'The message is no text, or is not one of ours.',
    then: 'Send another message.',
  },
  'edit-window-closed': {
    when: 'More than 15 minutes have passed since the message left.',
    then: 'Send another message.',
  },
  'message-sending': {
    when: 'A scheduled message was to be cancelled, and is leaving already.',
    then: 'Wait until it is `sent`, and delete it for everyone.',
  },
  'webhook-limit-reached': {
    when: 'The account has 10 destinations already.',
    then: 'Remove one of them.',
  },
  'delivery-pending': {
    when: 'The delivery was to be sent again, and is still being attempted.',
    then: 'Wait until it is `succeeded` or `failed`.',
  },
  'internal-error': {
    when: 'The service failed.',
    then: `${LATER} If it happens again, tell support the \`request_id\`.`,
  },
};
