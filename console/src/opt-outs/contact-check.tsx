import { Button, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import { InstanceSelect } from '../ui/instance-select';
import { showPerson, toRecipient } from '../ui/person';
import { ProblemAlert } from '../ui/problem-alert';

/** Asks the network through a connected number whether a phone number or an id has an account. */
export function ContactCheck() {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const [instance, setInstance] = useState<string | null>(null);
  const [phone, setPhone] = useState('');
  const check = useMutation({
    mutationFn: () => gwk.instances.checkContact(instance ?? '', toRecipient(phone)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    check.mutate();
  };
  return (
    <Paper withBorder p="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Title order={2} size="h4">
            {t('contactCheck.title')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('contactCheck.help')}
          </Text>
          <Group align="flex-end">
            <InstanceSelect value={instance} onChange={setInstance} required />
            <TextInput
              label={t('person.phoneOrId')}
              placeholder="5511987654321"
              required
              value={phone}
              onChange={(event) => setPhone(event.currentTarget.value)}
            />
            <Button type="submit" loading={check.isPending} disabled={instance === null}>
              {t('contactCheck.submit')}
            </Button>
            <Text role="status" size="sm" className="wrap">
              {check.data &&
                (check.data.exists
                  ? t('contactCheck.exists', {
                      person: showPerson({ ...check.data, id: check.data.id ?? '' }),
                    })
                  : t('contactCheck.absent'))}
            </Text>
          </Group>
          <ProblemAlert error={check.error} />
        </Stack>
      </form>
    </Paper>
  );
}
