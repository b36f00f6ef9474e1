rehearse E0340-rehearsal.plan
