import { Alert, Anchor, Button, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { getClient } from '../api/client';
import { ProblemAlert } from '../ui/problem-alert';
import { EntryLayout } from './entry-layout';

const client = getClient(null);

/** Asks for an e-mail with a link that sets a new password. */
export default function ForgotPasswordPage() {
  const { t } = useTranslation();
  const [email, setEmail] = useState('');
  const request = useMutation({
    mutationFn: (given: string) => client.POST('/console/api/password-resets', { body: { email: given } }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    request.mutate(email.trim());
  };
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('passwordReset.forgotTitle')}
      </Title>
      {request.isSuccess ? (
        <Alert color="teal" title={t('passwordReset.sentTitle')} role="status">
          {t('passwordReset.sentText', { email: request.variables })}
        </Alert>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <Text size="sm">{t('passwordReset.forgotText')}</Text>
            <TextInput
              label={t('signIn.email')}
              type="email"
              name="email"
              autoComplete="username"
              required
              autoFocus
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <ProblemAlert error={request.error} />
            <Button type="submit" loading={request.isPending} fullWidth>
              {t('passwordReset.send')}
            </Button>
          </Stack>
        </form>
      )}
      <Anchor component={Link} to="/" size="sm">
        {t('passwordReset.toSignIn')}
      </Anchor>
    </EntryLayout>
  );
}
