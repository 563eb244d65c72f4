import { Button, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { PageHeader } from '../ui/page-header';
import { useAccount } from './account';

export const NotFoundPage = () => <DeadEnd reason="notFound" home="/" />;

/** Somebody with another role has shared the address. */
export function NoAccessPage() {
  const { path } = useAccount();
  return <DeadEnd reason="noAccess" home={path('')} />;
}

function DeadEnd({ reason, home }: { reason: 'notFound' | 'noAccess'; home: string }) {
  const { t } = useTranslation();
  return (
    <Stack align="flex-start">
      <PageHeader title={t(`${reason}.title`)} subtitle={t(`${reason}.text`)} />
      <Button component={Link} to={home}>
        {t('notFound.home')}
      </Button>
    </Stack>
  );
}

/** A page could not be loaded, for example because a new version replaced its file. */
export function RouteError() {
  const { t } = useTranslation();
  return (
    <Stack align="flex-start" component="main" p="xl">
      <Title order={1}>{t('routeError.title')}</Title>
      <Text>{t('routeError.text')}</Text>
      <Button onClick={() => location.reload()}>{t('routeError.reload')}</Button>
    </Stack>
  );
}
