import { allows, type Right } from '../session/session';
import type { AccountAccess } from '../session/session-api';

interface PageRight {
  /** The page opens for members with this right; null: for everybody. */
  right: Right | null;
  /** The page is not for members who may use only some of the numbers. */
  wholeAccount?: true;
}

/** The right that each page of an account needs, by the path of its route. */
const PAGE_RIGHTS = {
  overview: { right: 'overview:read' },
  numbers: { right: 'instances:read' },
  'numbers/:number': { right: 'instances:read' },
  'numbers/:number/pairing': { right: 'instances:write' },
  conversations: { right: 'events:read' },
  messages: { right: 'messages:read' },
  'messages/new': { right: 'messages:send' },
  'messages/:message': { right: 'messages:read' },
  'opt-outs': { right: 'messages:read', wholeAccount: true },
  webhooks: { right: 'webhooks:read' },
  'webhooks/new': { right: 'webhooks:write' },
  'webhooks/:endpoint': { right: 'webhooks:read' },
  'deliveries/:delivery': { right: 'webhooks:read' },
  events: { right: 'events:read' },
  'events/:event': { right: 'events:read' },
  keys: { right: 'keys:write' },
  team: { right: 'members:read' },
  account: { right: 'account:read' },
  'account/policy': { right: 'account:read' },
  'alert-contacts': { right: 'alerts:write', wholeAccount: true },
  'audit-log': { right: 'audit:read', wholeAccount: true },
  formats: { right: 'instances:read' },
  profile: { right: null },
} as const satisfies Record<string, PageRight>;

export type PagePath = keyof typeof PAGE_RIGHTS;

export function mayOpen(access: AccountAccess, path: PagePath): boolean {
  const { right, wholeAccount }: PageRight = PAGE_RIGHTS[path];
  return (right === null || allows(access, right)) && !(wholeAccount && access.instance_ids !== null);
}
