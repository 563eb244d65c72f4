import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useSignInMethods } from './provider';

/** Leads from the sign-in to a new password, where the gateway sends e-mails. */
export function Forgotten() {
  const { t } = useTranslation();
  const { data } = useSignInMethods();
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
