import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { getClient, takeData } from '../api/client';

const client = getClient(null);

/** Leads from the sign-in to a new password, where the gateway sends e-mails. */
export function Forgotten() {
  const { t } = useTranslation();
  const { data } = useQuery({
    queryKey: ['sign-in-options'],
    queryFn: () => takeData(client.GET('/console/api/session/options')),
    staleTime: Infinity,
  });
  if (data?.password_reset) {
    return (
      <Anchor component={Link} to="/forgot-password" size="sm">
        {t('passwordReset.forgotTitle')}
      </Anchor>
    );
  }
  return (
    <Text size="sm" c="dimmed">
      {t('signIn.help')}
    </Text>
  );
}
