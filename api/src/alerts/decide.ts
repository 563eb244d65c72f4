import type { IncidentKind } from '../resources/console/alert.js';

/** A problem that a number or an endpoint has now. */
export interface Trouble {
  accountId: string;
  kind: IncidentKind;
  /** The instance or the endpoint. */
  subject: string;
  name: string;
  since: Date;
}

export interface OpenIncident {
  id: string;
  kind: IncidentKind;
  subject: string;
  /** The number is connected or the endpoint enabled. Or it was suspended or removed. */
  over: boolean;
}

export interface Decision {
  begin: Trouble[];
  /** Ends that contacts receive. */
  end: OpenIncident[];
  /** A worse incident of the same number follows, whose begin contacts receive instead. */
  replace: OpenIncident[];
}

/**
 * Decides which incidents begin and end. A subject has at most one open incident: a number that was down and is logged out
 * now has another one. A number that connects again after a logout is not down: its incident lasts until it is connected.
 */
export function decideIncidents(troubles: readonly Trouble[], open: readonly OpenIncident[]): Decision {
  const bySubject = new Map(open.map((incident) => [incident.subject, incident]));
  const begin: Trouble[] = [];
  const replace: OpenIncident[] = [];
  for (const trouble of troubles) {
    const known = bySubject.get(trouble.subject);
    if (known && (known.over || known.kind === trouble.kind || trouble.kind === 'down')) continue;
    if (known) replace.push(known);
    begin.push(trouble);
  }
  return { begin, end: open.filter(({ over }) => over), replace };
}
