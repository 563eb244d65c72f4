import type { Node } from '../wire/nodes.js';

export interface StanzaEntry {
  seq: number;
  at: number;
  /** 'in': from a client to the network; 'out': from the network to a client. */
  way: 'in' | 'out';
  number?: string;
  device?: number;
  connection: string;
  /** The network ignored it, because the connection was replaced or the device unlinked. */
  ignored?: boolean;
  stanza: Node;
}

export interface StanzaFilter {
  way?: 'in' | 'out';
  number?: string;
  tag?: string;
  id?: string;
  after?: number;
  ignored?: boolean;
}

/** Every stanza of every connection, in order. Counters are never reset; only the newest entries are kept. */
export class StanzaRecord {
  readonly #entries: StanzaEntry[] = [];
  readonly #counts = new Map<string, number>();
  #seq = 0;

  constructor(private readonly limit: number) {}

  add(entry: Omit<StanzaEntry, 'seq' | 'at'>): StanzaEntry {
    const full = { seq: ++this.#seq, at: Date.now(), ...entry };
    this.#entries.push(full);
    if (this.#entries.length > this.limit * 1.25) this.#entries.splice(0, this.#entries.length - this.limit);
    const key = `${entry.way} ${entry.stanza.tag}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return full;
  }

  find(filter: StanzaFilter = {}): StanzaEntry[] {
    return this.#entries.filter((entry) => fits(entry, filter));
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

function fits(entry: StanzaEntry, filter: StanzaFilter): boolean {
  return (
    (filter.way === undefined || entry.way === filter.way) &&
    (filter.number === undefined || entry.number === filter.number) &&
    (filter.tag === undefined || entry.stanza.tag === filter.tag) &&
    (filter.id === undefined || entry.stanza.attrs.id === filter.id) &&
    (filter.after === undefined || entry.seq > filter.after) &&
    (filter.ignored === undefined || Boolean(entry.ignored) === filter.ignored)
  );
}
