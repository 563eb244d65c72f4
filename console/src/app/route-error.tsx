import { Button, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';

export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <Stack align="flex-start">
      <Title order={1}>{t('notFound.title')}</Title>
      <Text>{t('notFound.text')}</Text>
      <Button component={Link} to="/">
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
