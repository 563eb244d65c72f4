import type { Plan, Request } from './decide.js';

/** What the statement is told once for a group, not once for each message. Places count from 1, as Postgres does. */
export interface Layout {
  instances: Seen;
  accounts: Seen;
  /** Of instances whose limits are counted, sorted. */
  ledgers: Ledger[];
  /** That are there, sorted. */
  conversations: string[];
  /** That are there, of conversations to make, sorted. */
  contacts: string[];
  chats: Chat[];
  /** Of each request, how many of the group take a place in its conversation up to and with it. */
  ranks: number[];
}

/** Rows that decisions were made of, each version once, and of each request its place among them. */
export interface Seen {
  ids: string[];
  versions: string[];
  places: number[];
}

/** What the group adds to the counts of an instance: new contacts, and texts to contacts. */
export interface Ledger {
  id: string;
  news: number;
  texts: number;
}

export interface Chat {
  id: string;
  /** The place of its first request. */
  first: number;
  /** Scheduled ones take no place yet. */
  amount: number;
  /** Among the new contacts that the group adds to the instance; 0 where it is none. */
  number: number;
}

type Entry = Readonly<{ request: Pick<Request, 'accountId' | 'instanceId'>; plan: Plan }>;

export function layOut(entries: readonly Entry[]): Layout {
  const chats = new Map<string, Chat>();
  const ledgers = new Map<string, Ledger>();
  const conversations = new Set<string>();
  const contacts = new Set<string>();
  const ranks = entries.map(({ request, plan }, index) => {
    const chat = known(chats, plan.conversationId, (id) => ({ id, first: index + 1, amount: 0, number: 0 }));
    if (plan.releaseAt === null) chat.amount++;
    if (plan.newContact !== null || plan.mass !== null) {
      const ledger = known(ledgers, request.instanceId, (id) => ({ id, news: 0, texts: 0 }));
      if (plan.mass !== null) ledger.texts++;
      if (plan.newContact !== null && chat.number === 0) chat.number = ++ledger.news;
    }
    if (!plan.makesConversation) conversations.add(plan.conversationId);
    else if (plan.contactId !== null && !plan.makesContact) contacts.add(plan.contactId);
    return chat.amount;
  });
  return {
    instances: seenOf(entries, ({ request, plan }) => [request.instanceId, plan.instanceVersion]),
    accounts: seenOf(entries, ({ request, plan }) => [request.accountId, plan.accountVersion]),
    ledgers: [...ledgers.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    conversations: [...conversations].sort(),
    contacts: [...contacts].sort(),
    chats: [...chats.values()],
    ranks,
  };
}

function seenOf(entries: readonly Entry[], pick: (entry: Entry) => [id: string, version: string]): Seen {
  const seen: Seen = { ids: [], versions: [], places: [] };
  const places = new Map<string, number>();
  for (const entry of entries) {
    const [id, version] = pick(entry);
    const place = known(places, id + version, () => {
      seen.versions.push(version);
      return seen.ids.push(id);
    });
    seen.places.push(place);
  }
  return seen;
}

function known<T>(all: Map<string, T>, id: string, make: (id: string) => T): T {
  let found = all.get(id);
  if (found === undefined) all.set(id, (found = make(id)));
  return found;
}
