import {
  Alert,
  Stack,
  AppShell,
  Box,
  Burger,
  Center,
  Group,
  Loader,
  NavLink,
  ScrollArea,
  Text,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconServer, IconShieldLock, type Icon } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate, Outlet, useLocation, useMatches, useNavigate, useParams } from 'react-router';
import icon from '../icon.svg';
import { lacksSecondFactor, useSession } from '../session/session';
import { findAccounts, type AccountAccess } from '../session/session-api';
import { AccountProvider, useAccount } from './account';
import { findStartPage, listPages, PLATFORM_PAGES } from './navigation';
import { mayOpen, type PagePath } from './page-rights';
import { NoAccessPage, NotFoundPage } from './route-error';
import { ColorSchemeButton, LanguageMenu } from './preferences';
import { UserMenu } from './user-menu';

const RENEW_MS = 60_000;

/** Loaded when there is a choice: its packages are large, and most people have one account. */
const AccountSelect = lazy(async () => ({ default: (await import('./account-select')).AccountSelect }));

/** Header, navigation and the page of the address, in an account. */
export function Shell() {
  const { t } = useTranslation();
  const session = useSession();
  const { account = '' } = useParams();
  const access = useAccess(account);
  if (access === undefined) {
    return (
      <Center mih="100vh">
        <Loader role="img" aria-label={t('common.loading')} />
      </Center>
    );
  }
  if (access === null) {
    return (
      <Layout>
        <NotFoundPage />
      </Layout>
    );
  }
  return (
    <AccountProvider access={access}>
      <Layout current={access} navigation={(close) => <AccountNavigation close={close} />}>
        {lacksSecondFactor(session, access) ? (
          <ProfileFirst at={`/${access.id}/profile`} />
        ) : (
          <AllowedPage access={access} />
        )}
      </Layout>
    </AccountProvider>
  );
}

/** The page of the address, if the member has the right that it needs. */
function AllowedPage({ access }: { access: AccountAccess }) {
  const path = useMatches().at(-1)?.handle as PagePath | undefined;
  return path === undefined || mayOpen(access, path) ? <Outlet /> : <NoAccessPage />;
}

/** The profile in place of any page, until the user has the required second factor. */
function ProfileFirst({ at }: { at: string }) {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  if (pathname !== at) return <Navigate to={at} replace />;
  return (
    <Stack>
      <Alert color="yellow" icon={<IconShieldLock />} title={t('shell.mfaTitle')} role="status">
        {t('shell.mfaText')}
      </Alert>
      <Outlet />
    </Stack>
  );
}

/** The same for the pages of administrators of the platform. */
export function PlatformShell() {
  const session = useSession();
  if (!session.user.is_platform_admin) {
    return (
      <Layout>
        <NotFoundPage />
      </Layout>
    );
  }
  return (
    <Layout
      navigation={(close) => <Navigation close={close} label="platform.navigation" items={PLATFORM_PAGES} />}
    >
      {lacksSecondFactor(session) ? <ProfileFirst at="/platform/profile" /> : <Outlet />}
    </Layout>
  );
}

/**
 * The rights of the user in the account that the address names. The session lists only the first accounts, so the API is
 * asked for others. Undefined: not known yet; null: no access.
 */
function useAccess(id: string): AccountAccess | null | undefined {
  const { accounts, has_more_accounts: hasMore } = useSession();
  const listed = accounts.find((access) => access.id === id);
  const isSearched = listed === undefined && hasMore && id !== '';
  const search = useQuery({
    queryKey: ['accounts', id],
    queryFn: async () => (await findAccounts(id)).find((access) => access.id === id) ?? null,
    enabled: isSearched,
    refetchInterval: RENEW_MS,
  });
  if (listed) return listed;
  return isSearched && !search.error ? search.data : null;
}

interface LayoutProps {
  current?: AccountAccess;
  navigation?: (close: () => void) => ReactNode;
  children: ReactNode;
}

function Layout({ current, navigation, children }: LayoutProps) {
  const { t } = useTranslation();
  const { accounts } = useSession();
  const [opened, { toggle, close }] = useDisclosure();
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 230, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t('shell.menu')}
              aria-expanded={opened}
            />
            <img src={icon} alt="" width={28} height={28} />
            <Text fw={700} visibleFrom="sm">
              gwk
            </Text>
            <AccountSwitch current={current} />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LanguageMenu />
            <ColorSchemeButton />
            <UserMenu account={(current ?? accounts[0])?.id} />
          </Group>
        </Group>
      </AppShell.Header>
      {navigation?.(close)}
      <AppShell.Main>
        <Box maw={1200} mx="auto">
          {children}
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

function AccountSwitch({ current }: { current: AccountAccess | undefined }) {
  const { t } = useTranslation();
  const { accounts, user } = useSession();
  const navigate = useNavigate();
  if (accounts.length < 2 && !user.is_platform_admin) return <Text truncate>{current?.name}</Text>;
  const open = (access: AccountAccess | null) => {
    if (access) void navigate(`/${access.id}/${findStartPage(access)}`);
  };
  return (
    <Suspense>
      <AccountSelect current={current} onChange={open} placeholder={t('shell.account')} maw={220} />
    </Suspense>
  );
}

function AccountNavigation({ close }: { close: () => void }) {
  const { access, path } = useAccount();
  const { user } = useSession();
  const pages = listPages(access).map((item) => ({ ...item, path: path(item.path) }));
  const platform = { path: '/platform/overview', label: 'platform.title', icon: IconServer } as const;
  return (
    <Navigation
      close={close}
      label="shell.navigation"
      items={user.is_platform_admin ? [...pages, platform] : pages}
    />
  );
}

interface NavigationProps {
  close: () => void;
  label: 'shell.navigation' | 'platform.navigation';
  items: readonly {
    path: string;
    label:
      | ReturnType<typeof listPages>[number]['label']
      | (typeof PLATFORM_PAGES)[number]['label']
      | 'platform.title';
    icon: Icon;
  }[];
}

function Navigation({ close, label, items }: NavigationProps) {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  return (
    <AppShell.Navbar p="xs" aria-label={t(label)}>
      <AppShell.Section grow component={ScrollArea}>
        {items.map((item) => {
          const isActive = pathname === item.path || pathname.startsWith(`${item.path}/`);
          return (
            <NavLink
              key={item.path}
              component={Link}
              to={item.path}
              label={t(item.label)}
              leftSection={<item.icon size={18} aria-hidden />}
              active={isActive}
              {...(isActive && { 'aria-current': 'page' as const })}
              onClick={close}
            />
          );
        })}
      </AppShell.Section>
    </AppShell.Navbar>
  );
}
