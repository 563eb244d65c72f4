import { IconDeviceMobile, type Icon } from '@tabler/icons-react';
import type { Right } from '../session/session';

export interface NavigationItem {
  path: string;
  label: 'shell.nav.numbers';
  icon: Icon;
  /** The page is offered to members with this right. */
  right: Right;
}

export const NAVIGATION: readonly NavigationItem[] = [
  { path: 'numbers', label: 'shell.nav.numbers', icon: IconDeviceMobile, right: 'instances:read' },
];

export const START_PAGE = 'numbers';
