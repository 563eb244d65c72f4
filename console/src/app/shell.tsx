import { Alert, AppShell, Box, Burger, Group, NavLink, ScrollArea, Select, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconShieldLock } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate, Outlet, useLocation, useNavigate, useParams } from 'react-router';
import icon from '../icon.svg';
import { lacksSecondFactor, useSession } from '../session/session';
import type { AccountAccess } from '../session/session-api';
import { AccountProvider, useAccount } from './account';
import { findStartPage, listPages } from './navigation';
import { NotFoundPage } from './route-error';
import { ColorSchemeButton, LanguageMenu } from './preferences';
import { UserMenu } from './user-menu';

/** Header, navigation and the page of the address. */
export function Shell() {
  const { t } = useTranslation();
  const session = useSession();
  const { accounts } = session;
  const { account } = useParams();
  const [opened, { toggle, close }] = useDisclosure();
  const access = accounts.find(({ id }) => id === account);
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
            <AccountSelect accounts={accounts} current={access} />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LanguageMenu />
            <ColorSchemeButton />
            <UserMenu account={access?.id} />
          </Group>
        </Group>
      </AppShell.Header>
      {access ? (
        <AccountProvider access={access}>
          <Navigation close={close} />
          <AppShell.Main>
            <Box maw={1200} mx="auto">
              {lacksSecondFactor(session, access) ? <ProfileFirst /> : <Outlet />}
            </Box>
          </AppShell.Main>
        </AccountProvider>
      ) : (
        <AppShell.Main>
          <NotFoundPage />
        </AppShell.Main>
      )}
    </AppShell>
  );
}

/** The profile in place of any page, until the user has the second factor that the account requires. */
function ProfileFirst() {
  const { t } = useTranslation();
  const { path } = useAccount();
  const { pathname } = useLocation();
  if (pathname !== path('profile')) return <Navigate to={path('profile')} replace />;
  return (
    <Stack>
      <Alert color="yellow" icon={<IconShieldLock />} title={t('shell.mfaTitle')} role="status">
        {t('shell.mfaText')}
      </Alert>
      <Outlet />
    </Stack>
  );
}

function AccountSelect({ accounts, current }: { accounts: AccountAccess[]; current?: AccountAccess }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  if (accounts.length < 2) return <Text truncate>{current?.name}</Text>;
  return (
    <Select
      aria-label={t('shell.account')}
      data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
      value={current?.id ?? null}
      onChange={(chosen) => {
        const access = accounts.find(({ id }) => id === chosen);
        if (access) void navigate(`/${access.id}/${findStartPage(access)}`);
      }}
      allowDeselect={false}
      searchable={accounts.length > 8}
      maw={220}
    />
  );
}

function Navigation({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const { access, path } = useAccount();
  const { pathname } = useLocation();
  return (
    <AppShell.Navbar p="xs" aria-label={t('shell.navigation')}>
      <AppShell.Section grow component={ScrollArea}>
        {listPages(access).map((item) => {
          const target = path(item.path);
          const isActive = pathname === target || pathname.startsWith(`${target}/`);
          return (
            <NavLink
              key={item.path}
              component={Link}
              to={target}
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
