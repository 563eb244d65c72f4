import type { SendRequest, WritePlan } from '../decide.js';

/** The arguments of the write that belong to the whole batch. Positions are one-based, as in Postgres arrays. */
export interface BatchLayout {
  instances: RowVersions;
  accounts: RowVersions;
  /** Increments of instances with limits, sorted by instance. */
  counters: CounterIncrement[];
  /** Existing conversations to lock, sorted. */
  lockedConversations: string[];
  /** Existing contacts to lock, of conversations to create, sorted. */
  lockedContacts: string[];
  conversations: ConversationIncrement[];
  /** For each request: sequence numbers that the batch takes in its conversation, up to and including the request. */
  ranks: number[];
}

/** Row versions that the decisions used, without duplicates, and for each request its position among them. */
interface RowVersions {
  ids: string[];
  versions: string[];
  positions: number[];
}

/** Amounts that the batch adds to the counters of an instance. */
interface CounterIncrement {
  instanceId: string;
  newContacts: number;
  /** Counted texts to contacts. */
  texts: number;
}

interface ConversationIncrement {
  id: string;
  /** Position of its first request. */
  firstPosition: number;
  /** Sequence numbers that it takes in its queue. A scheduled message takes none yet. */
  seqCount: number;
  /** Number among the new contacts that the batch adds to the instance; 0 for other contacts. */
  newContactNumber: number;
}

type LayoutEntry = Readonly<{ request: Pick<SendRequest, 'accountId' | 'instanceId'>; plan: WritePlan }>;

export function layOutBatch(entries: readonly LayoutEntry[]): BatchLayout {
  const conversations = new Map<string, ConversationIncrement>();
  const counters = new Map<string, CounterIncrement>();
  const lockedConversations = new Set<string>();
  const lockedContacts = new Set<string>();
  const ranks = entries.map(({ request, plan }, index) => {
    const conversation = getOrAdd(conversations, plan.conversationId, (id) => {
      return { id, firstPosition: index + 1, seqCount: 0, newContactNumber: 0 };
    });
    if (plan.releaseAt === null) conversation.seqCount++;
    if (plan.newContact !== null || plan.mass !== null) {
      const counter = getOrAdd(counters, request.instanceId, (instanceId) => {
        return { instanceId, newContacts: 0, texts: 0 };
      });
      if (plan.mass !== null) counter.texts++;
      if (plan.newContact !== null && conversation.newContactNumber === 0)
        conversation.newContactNumber = ++counter.newContacts;
    }
    if (!plan.createsConversation) lockedConversations.add(plan.conversationId);
    else if (plan.contactId !== null && !plan.createsContact) lockedContacts.add(plan.contactId);
    return conversation.seqCount;
  });
  return {
    instances: collectVersions(entries, ({ request, plan }) => [request.instanceId, plan.instanceVersion]),
    accounts: collectVersions(entries, ({ request, plan }) => [request.accountId, plan.accountVersion]),
    counters: [...counters.values()].sort((a, b) => (a.instanceId < b.instanceId ? -1 : 1)),
    lockedConversations: [...lockedConversations].sort(),
    lockedContacts: [...lockedContacts].sort(),
    conversations: [...conversations.values()],
    ranks,
  };
}

function collectVersions(
  entries: readonly LayoutEntry[],
  pick: (entry: LayoutEntry) => [id: string, version: string],
): RowVersions {
  const rows: RowVersions = { ids: [], versions: [], positions: [] };
  const positions = new Map<string, number>();
  for (const entry of entries) {
    const [id, version] = pick(entry);
    const position = getOrAdd(positions, id + version, () => {
      rows.versions.push(version);
      return rows.ids.push(id);
    });
    rows.positions.push(position);
  }
  return rows;
}

function getOrAdd<T>(map: Map<string, T>, key: string, create: (key: string) => T): T {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create(key)));
  return value;
}
