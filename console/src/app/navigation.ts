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
  IconMessages,
  IconTimeline,
  IconUsers,
  IconWebhook,
  type Icon,
} from '@tabler/icons-react';
import type { AccountAccess } from '../session/session-api';
import { mayOpen, type PagePath } from './page-rights';

/** The pages for administrators of the platform. */
export const PLATFORM_PAGES = [
  { path: '/platform/overview', label: 'platform.nav.overview', icon: IconHome },
  { path: '/platform/accounts', label: 'platform.nav.accounts', icon: IconBuilding },
  { path: '/platform/numbers', label: 'platform.nav.numbers', icon: IconDeviceMobile },
] as const;

interface NavigationItem {
  path: PagePath;
  label: `shell.nav.${'overview' | 'numbers' | 'conversations' | 'messages' | 'optOuts' | 'webhooks' | 'events' | 'keys' | 'team' | 'account' | 'alertContacts' | 'auditLog' | 'formats'}`;
  icon: Icon;
}

const NAVIGATION: readonly NavigationItem[] = [
  { path: 'overview', label: 'shell.nav.overview', icon: IconHome },
  { path: 'numbers', label: 'shell.nav.numbers', icon: IconDeviceMobile },
  { path: 'conversations', label: 'shell.nav.conversations', icon: IconMessages },
  { path: 'messages', label: 'shell.nav.messages', icon: IconMessage },
  { path: 'opt-outs', label: 'shell.nav.optOuts', icon: IconBan },
  { path: 'webhooks', label: 'shell.nav.webhooks', icon: IconWebhook },
  { path: 'events', label: 'shell.nav.events', icon: IconTimeline },
  { path: 'keys', label: 'shell.nav.keys', icon: IconKey },
  { path: 'team', label: 'shell.nav.team', icon: IconUsers },
  { path: 'account', label: 'shell.nav.account', icon: IconBuilding },
  { path: 'alert-contacts', label: 'shell.nav.alertContacts', icon: IconBell },
  { path: 'audit-log', label: 'shell.nav.auditLog', icon: IconHistory },
  { path: 'formats', label: 'shell.nav.formats', icon: IconLayoutList },
];

/** The pages that a member may use. */
export const listPages = (access: AccountAccess): NavigationItem[] =>
  NAVIGATION.filter(({ path }) => mayOpen(access, path));

/** The first page of the navigation. Everybody has a profile. */
export const findStartPage = (access: AccountAccess): string => listPages(access)[0]?.path ?? 'profile';
