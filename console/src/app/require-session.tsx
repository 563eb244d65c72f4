import { Button, Center, Loader, Text, Title } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet } from 'react-router';
import { EntryLayout } from '../session/entry-layout';
import { useSession, useSessionQuery, useSetSession } from '../session/session';
import { signOut } from '../session/session-api';
import { ProblemAlert } from '../ui/problem-alert';
import { useAccount } from './account';
import { findStartPage } from './navigation';

const SignInPage = lazy(async () => ({ default: (await import('../session/sign-in-page')).SignInPage }));

function Loading() {
  const { t } = useTranslation();
  return (
    <Center mih="100vh">
      <Loader role="img" aria-label={t('common.loading')} />
    </Center>
  );
}

/** Shows the page to a signed-in user, and the sign-in in its place to anyone else. */
export function RequireSession() {
  const { t } = useTranslation();
  const { data, error, refetch } = useSessionQuery();
  if (data) return <Outlet />;
  if (data === null) {
    return (
      <Suspense fallback={<Loading />}>
        <SignInPage />
      </Suspense>
    );
  }
  if (error) {
    return (
      <EntryLayout>
        <ProblemAlert error={error} />
        <Button onClick={() => void refetch()}>{t('common.retry')}</Button>
      </EntryLayout>
    );
  }
  return <Loading />;
}

/** Opens the first account of the user, or the platform for its administrators. */
export function HomePage() {
  const { t } = useTranslation();
  const { accounts, user } = useSession();
  const setSession = useSetSession();
  const [first] = accounts;
  if (user.is_platform_admin) return <Navigate to="/platform/overview" replace />;
  if (first) return <Navigate to={`/${first.id}/${findStartPage(first)}`} replace />;
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('noAccount.title')}
      </Title>
      <Text>{t('noAccount.text', { email: user.email })}</Text>
      <Button variant="default" onClick={() => void signOut().then(() => setSession(null))}>
        {t('shell.signOut')}
      </Button>
    </EntryLayout>
  );
}

/** Opens the first page of the account of the address. */
export function StartPage() {
  const { access, path } = useAccount();
  return <Navigate to={path(findStartPage(access))} replace />;
}
