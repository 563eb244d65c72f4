import {
  IconBan,
  IconBell,
  IconBuilding,
  IconDeviceMobile,
  IconHistory,
  IconHome,
  IconKey,
  IconLayoutList,
  IconMessage,
  IconTimeline,
  IconUsers,
  IconWebhook,
  type Icon,
} from '@tabler/icons-react';
import type { AccountAccess } from '../session/session-api';
import { allows, type Right } from '../session/session';

/** The pages for administrators of the platform. */
export const PLATFORM_PAGES = [
  { path: '/platform/overview', label: 'platform.nav.overview', icon: IconHome },
  { path: '/platform/accounts', label: 'platform.nav.accounts', icon: IconBuilding },
  { path: '/platform/numbers', label: 'platform.nav.numbers', icon: IconDeviceMobile },
] as const;

interface NavigationItem {
  path: string;
  label: `shell.nav.${'overview' | 'numbers' | 'messages' | 'optOuts' | 'webhooks' | 'events' | 'keys' | 'team' | 'account' | 'alertContacts' | 'auditLog' | 'formats'}`;
  icon: Icon;
  /** The page is offered to members with this right. */
  right: Right;
  /** The page is not for members who may use only some of the numbers. */
  wholeAccount?: true;
}

const NAVIGATION: readonly NavigationItem[] = [
  { path: 'overview', label: 'shell.nav.overview', icon: IconHome, right: 'overview:read' },
  { path: 'numbers', label: 'shell.nav.numbers', icon: IconDeviceMobile, right: 'instances:read' },
  { path: 'messages', label: 'shell.nav.messages', icon: IconMessage, right: 'messages:read' },
  {
    path: 'opt-outs',
    label: 'shell.nav.optOuts',
    icon: IconBan,
    right: 'messages:read',
    wholeAccount: true,
  },
  { path: 'webhooks', label: 'shell.nav.webhooks', icon: IconWebhook, right: 'webhooks:read' },
  { path: 'events', label: 'shell.nav.events', icon: IconTimeline, right: 'events:read' },
  { path: 'keys', label: 'shell.nav.keys', icon: IconKey, right: 'keys:write' },
  { path: 'team', label: 'shell.nav.team', icon: IconUsers, right: 'members:read' },
  { path: 'account', label: 'shell.nav.account', icon: IconBuilding, right: 'account:read' },
  {
    path: 'alert-contacts',
    label: 'shell.nav.alertContacts',
    icon: IconBell,
    right: 'alerts:write',
    wholeAccount: true,
  },
  {
    path: 'audit-log',
    label: 'shell.nav.auditLog',
    icon: IconHistory,
    right: 'audit:read',
    wholeAccount: true,
  },
  { path: 'formats', label: 'shell.nav.formats', icon: IconLayoutList, right: 'instances:read' },
];

/** The pages that a member may use. */
export const listPages = (access: AccountAccess): NavigationItem[] =>
  NAVIGATION.filter(
    ({ right, wholeAccount }) => allows(access, right) && !(wholeAccount && access.instance_ids !== null),
  );

/** The first page of the navigation. Everybody has a profile. */
export const findStartPage = (access: AccountAccess): string => listPages(access)[0]?.path ?? 'profile';
