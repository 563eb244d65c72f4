import type { Account, Companion, Mail } from '../people/account.js';
import { node, type Node } from '../wire/nodes.js';
import { NETWORK } from '../wire/jids.js';

const PREVIEWED = ['message', 'receipt', 'notification'] as const;

/**
 * Delivers a stanza that must not be lost. It stays in the companion's mail until the companion confirms it, and is
 * delivered again at every login until then.
 */
export function deliver(companion: Companion, stanza: Node): void {
  const mail: Mail = { stanza };
  companion.mail.push(mail);
  if (companion.active && !companion.account.mailHeld) give(companion, mail);
}

/** Holds mail for an account until it is released. */
export function holdMail(account: Account): void {
  account.mailHeld = true;
}

/** Releases all mail in order of arrival. */
export function releaseMail(account: Account): void {
  account.mailHeld = false;
  for (const companion of account.companions.values()) {
    if (companion.active) for (const mail of waitingFor(companion)) give(companion, mail);
  }
}

const waitingFor = ({ mail, connection }: Companion): Mail[] =>
  mail.filter(({ given }) => given !== connection?.id);

function give(companion: Companion, mail: Mail, attributes: Record<string, string> = {}): void {
  if (!companion.connection) return;
  mail.given = companion.connection.id;
  companion.connection.send({ ...mail.stanza, attrs: { ...mail.stanza.attrs, ...attributes } });
}

/** The companion receives mail from now on: first the waiting stanzas, marked as offline mail, in order of arrival. */
export function hasComeOnline(companion: Companion): void {
  const { connection } = companion;
  if (!connection || companion.active) return;
  companion.active = true;
  const waiting = companion.account.mailHeld ? [] : waitingFor(companion);
  const count = (tag: string) => String(waiting.filter(({ stanza }) => stanza.tag === tag).length);
  if (waiting.length > 0) {
    const counts = Object.fromEntries(PREVIEWED.map((tag) => [tag, count(tag)]));
    const preview = node('offline_preview', { count: String(waiting.length), ...counts, appdata: '0' });
    connection.send(node('ib', { from: NETWORK }, [preview]));
  }
  waiting.forEach((mail, position) => give(companion, mail, { offline: String(position) }));
  connection.send(node('ib', { from: NETWORK }, [node('offline', { count: String(waiting.length) })]));
}

/** The companion has confirmed the stanzas with these ids. */
export function settle(companion: Companion, tag: string, ids: readonly string[]): void {
  const settled = new Set(ids);
  companion.mail = companion.mail.filter(
    ({ stanza }) => stanza.tag !== tag || !settled.has(stanza.attrs.id ?? ''),
  );
}
